use tako::prelude::*;

static ROLLUP: Cron = cron!("nightly-rollup", "0 24 * * *");

fn main() {}
