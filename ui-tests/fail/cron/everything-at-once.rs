use tako::prelude::*;

static ROLLUP: Cron = cron!("Nightly Rollup", "60 24 * * *", "CET", singleton = true);

fn main() {}
