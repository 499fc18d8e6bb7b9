use tako::prelude::*;

static ROLLUP: Cron = cron!("nightly-rollup", "@reboot");

fn main() {}
