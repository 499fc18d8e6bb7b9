use tako::prelude::*;

static ROLLUP: Cron = cron!("nightly-rollup", "0 3 * * *", "UTC+2");

fn main() {}
