use tako::prelude::*;

static ROLLUP: Cron = cron!("nightly-rollup");

fn main() {}
