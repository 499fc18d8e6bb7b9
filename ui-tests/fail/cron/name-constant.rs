use tako::prelude::*;

static ROLLUP: Cron = cron!(NAME, "0 3 * * *");

fn main() {}
