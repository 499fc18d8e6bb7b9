use tako::prelude::*;

static ROLLUP: Cron = cron!("0 3 * * *", "Europe/Berlin");

fn main() {}
