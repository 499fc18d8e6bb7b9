use tako::prelude::*;

static ROLLUP: Cron = cron!("nightly-rollup", "0 3 * * * root /usr/bin/rollup");

fn main() {}
