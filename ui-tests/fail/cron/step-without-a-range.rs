use tako::prelude::*;

static ROLLUP: Cron = cron!("nightly-rollup", "/15 * * * *");

fn main() {}
