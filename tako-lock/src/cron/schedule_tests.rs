use std::collections::BTreeSet;
use std::error::Error;
use std::time::{Duration, SystemTime};

use jiff::{SignedDuration, Timestamp};

use super::{Hours, Schedule, ScheduleFault};

fn ticks(expression: &str, zone: &str, after: &str, number: usize) -> Result<Vec<String>, Box<dyn Error>> {
    let schedule = Schedule::parse(expression, zone)?;
    let mut instant = SystemTime::from(after.parse::<Timestamp>()?);
    let mut ticks = Vec::new();
    while ticks.len() < number {
        instant = schedule.next_after(instant).ok_or("no tick any more")?;
        ticks.push(Timestamp::try_from(instant)?.to_string());
    }
    Ok(ticks)
}

#[test]
fn each_tick_is_where_it_is_documented() -> Result<(), Box<dyn Error>> {
    let table: &[(&str, &str, &str, &[&str])] = &[
        // Strictly after, also by less than a second.
        ("0 3 * * *", "UTC", "2026-01-01T02:59:59.9Z", &["2026-01-01T03:00:00Z", "2026-01-02T03:00:00Z"]),
        ("0 3 * * *", "UTC", "2026-01-01T03:00:00Z", &["2026-01-02T03:00:00Z"]),
        ("0 3 * * *", "UTC", "2026-01-01T03:00:00.1Z", &["2026-01-02T03:00:00Z"]),
        (
            "*/10 * * * * *",
            "UTC",
            "2026-01-01T00:00:09.5Z",
            &["2026-01-01T00:00:10Z", "2026-01-01T00:00:20Z"],
        ),
        ("* * * * * *", "UTC", "2026-01-01T00:00:00.5Z", &["2026-01-01T00:00:01Z"]),
        // Leap days, and the century without one.
        ("0 0 29 2 *", "UTC", "2096-03-01T00:00:00Z", &["2104-02-29T00:00:00Z"]),
        // Days of the month or weekdays; both, with a plus; last and nearest days.
        ("0 0 1 * MON", "UTC", "2026-06-01T12:00:00Z", &["2026-06-08T00:00:00Z"]),
        ("0 0 1 * +MON", "UTC", "2026-06-01T12:00:00Z", &["2027-02-01T00:00:00Z"]),
        ("0 0 L 2 *", "UTC", "2027-03-01T00:00:00Z", &["2028-02-29T00:00:00Z"]),
        ("0 0 15W * *", "UTC", "2026-08-01T00:00:00Z", &["2026-08-14T00:00:00Z"]),
        ("0 0 * * FRI#L", "UTC", "2026-08-01T00:00:00Z", &["2026-08-28T00:00:00Z"]),
        ("@weekly", "UTC", "2026-08-01T00:00:00Z", &["2026-08-02T00:00:00Z"]),
        // Spring in Berlin: 29 March 2026, 02:00 to 03:00 local time does not come.
        (
            "30 2 * * *",
            "Europe/Berlin",
            "2026-03-28T00:00:00Z",
            &["2026-03-28T01:30:00Z", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"],
        ),
        (
            "0,30 2,3 * * *",
            "Europe/Berlin",
            "2026-03-28T12:00:00Z",
            &["2026-03-29T01:00:00Z", "2026-03-29T01:30:00Z", "2026-03-30T00:00:00Z"],
        ),
        (
            "*/30 * * * *",
            "Europe/Berlin",
            "2026-03-29T00:00:00Z",
            &["2026-03-29T00:30:00Z", "2026-03-29T01:00:00Z", "2026-03-29T01:30:00Z"],
        ),
        (
            "0 */2 * * *",
            "Europe/Berlin",
            "2026-03-28T22:30:00Z",
            &["2026-03-28T23:00:00Z", "2026-03-29T02:00:00Z", "2026-03-29T04:00:00Z"],
        ),
        // Autumn in Berlin: 25 October 2026, 02:00 to 03:00 local time comes twice.
        (
            "30 2 * * *",
            "Europe/Berlin",
            "2026-10-24T12:00:00Z",
            &["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"],
        ),
        // Asked in the second of the two hours.
        ("30 2 * * *", "Europe/Berlin", "2026-10-25T01:10:00Z", &["2026-10-26T01:30:00Z"]),
        (
            "0 1-3 * * *",
            "Europe/Berlin",
            "2026-10-24T22:00:00Z",
            &["2026-10-24T23:00:00Z", "2026-10-25T00:00:00Z", "2026-10-25T02:00:00Z"],
        ),
        (
            "*/30 * * * *",
            "Europe/Berlin",
            "2026-10-25T00:00:00Z",
            &["2026-10-25T00:30:00Z", "2026-10-25T01:00:00Z", "2026-10-25T01:30:00Z", "2026-10-25T02:00:00Z"],
        ),
        (
            "0 */2 * * *",
            "Europe/Berlin",
            "2026-10-24T21:30:00Z",
            &["2026-10-24T22:00:00Z", "2026-10-25T00:00:00Z", "2026-10-25T01:00:00Z", "2026-10-25T03:00:00Z"],
        ),
        // Midnight itself is left out.
        (
            "@daily",
            "America/Sao_Paulo",
            "2018-11-03T00:00:00Z",
            &["2018-11-03T03:00:00Z", "2018-11-04T03:00:00Z", "2018-11-05T02:00:00Z"],
        ),
        // Half an hour is left out; a whole day is.
        ("15 2 * * *", "Australia/Lord_Howe", "2026-10-03T00:00:00Z", &["2026-10-03T15:30:00Z"]),
        (
            "0 12 * * *",
            "Pacific/Apia",
            "2011-12-29T12:00:00Z",
            &["2011-12-29T22:00:00Z", "2011-12-30T10:00:00Z", "2011-12-30T22:00:00Z"],
        ),
    ];
    for (expression, zone, after, expected) in table {
        assert_eq!(
            ticks(expression, zone, after, expected.len())?,
            *expected,
            "{expression} in {zone} after {after}"
        );
    }
    Ok(())
}

/// The same rule, minute by minute, over the days around every change of the clock.
#[test]
fn every_minute_around_every_change() -> Result<(), Box<dyn Error>> {
    const MINUTE: SignedDuration = SignedDuration::from_mins(1);
    let zones = [
        "Europe/Berlin",
        "America/New_York",
        "America/Sao_Paulo",
        "Australia/Lord_Howe",
        "Africa/Casablanca",
        "UTC",
    ];
    let expressions = [
        "30 2 * * *",
        "0,30 0-3 * * *",
        "0 * * * *",
        "*/7 * * * *",
        "15 */3 * * *",
        "59 1,23 * * SUN",
        "@daily",
        "1 0 1 * *",
    ];
    let changes = [
        "2018-11-04T00:00:00Z",
        "2026-03-08T12:00:00Z",
        "2026-03-29T00:00:00Z",
        "2026-10-25T00:00:00Z",
        "2026-11-01T06:00:00Z",
    ];
    for (zone, expression) in
        zones.iter().flat_map(|zone| expressions.iter().map(move |expression| (zone, expression)))
    {
        let schedule = Schedule::parse(expression, zone)?;
        for change in changes {
            let start = change.parse::<Timestamp>()? - SignedDuration::from_hours(36);
            let (mut instant, mut seen, mut expected) = (start, BTreeSet::new(), Vec::new());
            let mut last = schedule.zone.to_datetime(start);
            while instant < start + SignedDuration::from_hours(72) {
                instant += MINUTE;
                let time = schedule.zone.to_datetime(instant);
                // What the clock reads now, and what it jumped over.
                let mut due = schedule.cron.is_time_matching(&time)?;
                if let Hours::Named = schedule.hours {
                    due &= seen.insert(time) && time > last;
                    let mut missed = last + MINUTE;
                    while missed < time {
                        due |= schedule.cron.is_time_matching(&missed)?;
                        missed += MINUTE;
                    }
                }
                last = last.max(time);
                if let Hours::Every = schedule.hours {
                    last = time;
                }
                if due {
                    expected.push(SystemTime::from(instant));
                }
            }
            let mut found = Vec::new();
            let mut next = schedule.next_after(start.into());
            while let Some(tick) = next.filter(|tick| *tick <= SystemTime::from(instant)) {
                found.push(tick);
                next = schedule.next_after(tick);
            }
            assert_eq!(found, expected, "{expression} in {zone} around {change}");
        }
    }
    Ok(())
}

#[test]
fn the_end_of_time_is_no_panic() -> Result<(), Box<dyn Error>> {
    let schedule = Schedule::parse("0 3 * * *", "Europe/Berlin")?;
    let year = Duration::from_hours(365 * 24);
    assert!(schedule.next_after(SystemTime::UNIX_EPOCH - 100 * year).is_some());
    for years in [2900, 3100, 7000, 9000, 100_000] {
        let _ = schedule.next_after(SystemTime::UNIX_EPOCH + years * year);
    }
    assert_eq!(schedule.next_after(SystemTime::UNIX_EPOCH + 100_000 * year), None);
    Ok(())
}

#[test]
fn a_fault_says_what_and_where() {
    let fault = |expression, zone| {
        Schedule::parse(expression, zone)
            .map_or_else(|fault: ScheduleFault| fault.to_string(), |_| String::new())
    };
    assert_eq!(
        fault("60 24 * * *", "UTC"),
        "`60 24 * * *` is not a schedule that `cron!` takes: `60` is not legal as the minute; `24` is not legal as the hour"
    );
    assert_eq!(
        fault("0 3 * * *", "CET"),
        "`CET` is not a time zone of the IANA database, such as `Europe/Berlin`, nor `UTC`"
    );
}
