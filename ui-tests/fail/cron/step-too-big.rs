use tako::prelude::*;

static ROLLUP: Cron = cron!("nightly-rollup", "*/90 * * * *");

fn main() {}
