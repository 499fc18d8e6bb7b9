use tako::prelude::*;

static ROLLUP: Cron = cron!("nightly-rollup", String::from("0 3 * * *"));

fn main() {}
