use tako::prelude::*;

static ROLLUP: Cron = cron!("nightly-rollup", "*/x * * * *");

fn main() {}
