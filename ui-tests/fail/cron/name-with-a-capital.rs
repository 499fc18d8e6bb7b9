use tako::prelude::*;

static ROLLUP: Cron = cron!("NightlyRollup", "0 3 * * *");

fn main() {}
