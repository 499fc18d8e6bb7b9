use tako::prelude::*;

static ROLLUP: Cron = cron!("rollup", "0 3 * *");
static REPORT: Cron = cron!("report", "0 7 * * MON-FRY");
static RELOCK: Lock = cron!("reindex", "0 3 * * *");

fn main() {
    let number: u32 = "x";
}
