use tako::prelude::*;

static ROLLUP: Cron = cron!("nightly-rollup", concat!("0 3 ", "* * *"));

fn main() {}
