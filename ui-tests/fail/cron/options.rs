use tako::prelude::*;

static ROLLUP: Cron = cron!("nightly-rollup", "0 3 * * *", jitter = 30, retries = 3, ttl = 60);

fn main() {}
