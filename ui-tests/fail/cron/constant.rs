use tako::prelude::*;

static ROLLUP: Cron = cron!("nightly-rollup", SCHEDULE);

fn main() {}
