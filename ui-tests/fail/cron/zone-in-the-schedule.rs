use tako::prelude::*;

static ROLLUP: Cron = cron!("nightly-rollup", "CRON_TZ=Europe/Berlin 0 3 * * *");

fn main() {}
