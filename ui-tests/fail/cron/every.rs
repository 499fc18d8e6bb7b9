use tako::prelude::*;

static ROLLUP: Cron = cron!("nightly-rollup", every = "5m");

fn main() {}
