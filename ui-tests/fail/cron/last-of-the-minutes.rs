use tako::prelude::*;

static ROLLUP: Cron = cron!("nightly-rollup", "L 3 * * *");

fn main() {}
