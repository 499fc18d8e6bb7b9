use tako::prelude::*;

static ROLLUP: Cron = cron!("", "0 3 * * *");

fn main() {}
