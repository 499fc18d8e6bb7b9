use tako::prelude::*;

static ROLLUP: Cron = cron!("nightly-rollup", "0 3 * * FRI#6");

fn main() {}
