use tako::prelude::*;

static ROLLUP: Cron = cron!("nightly-rollup", "0 9–17 * * *");

fn main() {}
