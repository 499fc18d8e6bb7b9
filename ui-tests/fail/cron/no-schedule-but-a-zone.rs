use tako::prelude::*;

static ROLLUP: Cron = cron!("nightly-rollup", "Europe/Berlin");

fn main() {}
