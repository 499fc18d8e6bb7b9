use tako::prelude::*;

static ROLLUP: Cron = cron!("3-rollup", "0 3 * * *");

fn main() {}
