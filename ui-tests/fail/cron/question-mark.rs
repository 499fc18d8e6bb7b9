use tako::prelude::*;

static ROLLUP: Cron = cron!("nightly-rollup", "0 12 ? * MON-FRI");

fn main() {}
