use tako::prelude::*;

static ROLLUP: Cron = cron!("nightly-rollup", "0 0 3 * * * 2026");

fn main() {}
