use tako::prelude::*;

static ROLLUP: Cron = cron!("nightly-rollup", @daily);

fn main() {}
