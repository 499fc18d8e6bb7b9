use tako::prelude::*;

static ROLLUP: Cron = cron!("nightly-rollup", "60 3 * * *");

fn main() {}
