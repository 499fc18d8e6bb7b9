use tako::prelude::*;

static ROLLUP: Cron = cron!("nightly-rollup", */5 * * * *);

fn main() {}
