use tako::prelude::*;

static ROLLUP: Cron = cron!("rollup-", "0 3 * * *");

fn main() {}
