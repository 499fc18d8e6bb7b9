use tako::prelude::*;

static ROLLUP: Cron = cron!("nightly-rollup", "5/15 * * * *");

fn main() {}
