//! `cron!`, and its place in the list of all declarations.

use std::time::{Duration, SystemTime};

use tako::Kind;
use tako::prelude::*;

static ROLLUP: Cron = cron!("nightly-rollup", "0 3 * * *");
static REPORT: Cron = cron!("report", "30 7 * * MON-FRI", "Europe/Berlin");
static SECONDS: Cron = tako::cron!["ten-seconds", "*/10 * * * * *",];
static NICKNAME: tako::Cron = tako::prelude::cron! { r"nickname", r#"@daily"#, "UTC", };
static LAST: Cron = cron!("last-day", "0 0 L * +FRI#L");
/// A lock may have the name of a cron.
static LOCK: Lock = lock!("nightly-rollup");

macro_rules! declare {
    ($name:ident, $work:literal, $schedule:expr, $zone:literal) => {
        static $name: Cron = cron!($work, $schedule, $zone);
    };
}
declare!(FORWARDED, "forwarded-cron", "@hourly", "America/New_York");

#[test]
fn each_static_has_its_parts() {
    let table = [
        (&ROLLUP, "nightly-rollup", "0 3 * * *", "UTC"),
        (&REPORT, "report", "30 7 * * MON-FRI", "Europe/Berlin"),
        (&SECONDS, "ten-seconds", "*/10 * * * * *", "UTC"),
        (&NICKNAME, "nickname", "@daily", "UTC"),
        (&LAST, "last-day", "0 0 L * +FRI#L", "UTC"),
        (&FORWARDED, "forwarded-cron", "@hourly", "America/New_York"),
    ];
    for (cron, name, schedule, zone) in table {
        assert_eq!((cron.name(), cron.schedule(), cron.zone()), (name, schedule, zone));
    }
}

#[test]
fn crons_are_listed_with_their_next_run() {
    let named = |name: &str| {
        let all = tako::declared().into_iter();
        all.filter(|declaration| declaration.name == name).collect::<Vec<_>>()
    };
    let rollup = named(LOCK.name());
    assert_eq!(rollup.len(), 2, "the lock and the cron: {rollup:?}");
    assert_eq!(rollup[0].kind, Kind::Lock);
    assert_eq!(rollup[1].kind, Kind::Cron { schedule: "0 3 * * *", zone: "UTC" });
    assert!(rollup[1].file.ends_with("pass/crons.rs"), "{rollup:?}");
    assert_eq!(rollup[1].line + 6, rollup[0].line, "{rollup:?}");
    let noon = SystemTime::UNIX_EPOCH + Duration::from_hours(12);
    assert_eq!(rollup[0].next_run(noon), None, "a lock is never due");
    assert_eq!(rollup[1].next_run(noon), Some(noon + Duration::from_hours(15)));
    // The first of January 1970 was a Thursday; half past seven in Berlin was half past six.
    assert_eq!(named("report")[0].next_run(noon), Some(noon + Duration::from_mins(18 * 60 + 30)));
}

/// What the macro takes, the library takes.
#[test]
fn every_cron_that_compiles_has_a_next_run() {
    let crons: Vec<_> =
        tako::declared().into_iter().filter(|declaration| declaration.kind != Kind::Lock).collect();
    assert_eq!(crons.len(), 6);
    for cron in crons {
        assert!(cron.next_run(SystemTime::UNIX_EPOCH).is_some(), "{cron:?}");
    }
}
