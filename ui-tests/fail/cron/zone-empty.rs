use tako::prelude::*;

static ROLLUP: Cron = cron!("nightly-rollup", "0 3 * * *", "");

fn main() {}
