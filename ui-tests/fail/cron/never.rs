use tako::prelude::*;

static ROLLUP: Cron = cron!("nightly-rollup", "0 0 30 2 *");

fn main() {}
