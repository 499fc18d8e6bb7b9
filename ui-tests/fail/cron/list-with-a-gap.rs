use tako::prelude::*;

static ROLLUP: Cron = cron!("nightly-rollup", "0,,30 * * * *");

fn main() {}
