use tako::prelude::*;

static ROLLUP: Cron = cron!("nightly-rollup", "@midnight");

fn main() {}
