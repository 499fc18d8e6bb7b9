use tako::prelude::*;

static ROLLUP: Cron = cron!("nightly-rollup", "0 3 1 1 * 2026");

fn main() {}
