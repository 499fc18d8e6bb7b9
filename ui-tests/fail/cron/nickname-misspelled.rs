use tako::prelude::*;

static ROLLUP: Cron = cron!("nightly-rollup", "@dayly");

fn main() {}
