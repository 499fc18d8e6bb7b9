use tako::prelude::*;

static ROLLUP: Cron = cron!("rоllup", "0 3 * * *");

fn main() {}
