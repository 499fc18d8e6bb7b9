use tako::prelude::*;

static ROLLUP: Cron = cron!("nightly-rollup", "60 24 0 * *");

fn main() {}
