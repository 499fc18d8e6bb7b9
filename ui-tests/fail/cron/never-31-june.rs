use tako::prelude::*;

static ROLLUP: Cron = cron!("nightly-rollup", "0 0 31 APR,JUN,SEP,NOV *");

fn main() {}
