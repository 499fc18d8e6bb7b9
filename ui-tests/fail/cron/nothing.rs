use tako::prelude::*;

static ROLLUP: Cron = cron!();

fn main() {}
