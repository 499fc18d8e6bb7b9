use tako::prelude::*;

static ROLLUP: Cron = cron!(name = "nightly-rollup", schedule = "0 3 * * *", tz = "Europe/Berlin");

fn main() {}
