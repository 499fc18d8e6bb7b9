use tako::prelude::*;

static ROLLUP: Cron = cron!("nightly-rollup", "3 * * *");

fn main() {}
