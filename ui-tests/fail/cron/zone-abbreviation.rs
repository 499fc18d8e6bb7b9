use tako::prelude::*;

static ROLLUP: Cron = cron!("nightly-rollup", "0 3 * * *", "CET");

fn main() {}
