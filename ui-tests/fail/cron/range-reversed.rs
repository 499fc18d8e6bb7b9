use tako::prelude::*;

static ROLLUP: Cron = cron!("nightly-rollup", "0 22-4 * * *");

fn main() {}
