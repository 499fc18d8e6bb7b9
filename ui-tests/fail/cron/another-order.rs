use tako::prelude::*;

static ROLLUP: Cron = cron!("0 3 * * *", "nightly-rollup");

fn main() {}
