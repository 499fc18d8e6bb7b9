use tako::prelude::*;

static ROLLUP: Cron = cron!("nightly-rollup", "every day at three");

fn main() {}
