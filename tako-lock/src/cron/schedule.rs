//! When a schedule's ticks are. Pure: it is told the instant, and reads no clock.
//!
//! Twice a year most zones change their clocks. Then a time of the wall clock is not always one instant: the times in a
//! *gap* never come (spring), those in an *overlap* come twice (autumn). What happens to a tick there depends on the hour
//! field:
//!
//! - **An hour that is named** (`30 2 * * *`, `0 9-17 * * *`, `@daily`) means that time of the day. Each comes once a day:
//!   in a gap at the first instant after it, in an overlap at its first occurrence. Ticks that fall together are one.
//! - **Every hour, or every so many** (the hour field begins with `*`: `*/15 * * * *`, `0 */2 * * *`, `@hourly`) means time
//!   that passes. There is a tick at each instant at which the clock reads so: none in a gap, two in an overlap, and the
//!   time between two ticks of `*/15 * * * *` is always fifteen minutes.
//!
//! Whole zones have jumped over a day (`Pacific/Apia`, 30 December 2011); the same holds there. The rules of the zones are
//! those that were compiled in, so that all instances of one build agree on every tick.

use std::fmt;
use std::time::SystemTime;

use croner::Cron;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};

use super::schedule_rules::{self, Fault};

/// A schedule in its time zone.
#[derive(Debug, Clone)]
pub(crate) struct Schedule {
    cron: Cron,
    zone: TimeZone,
    hours: Hours,
}

/// What the hour field means where the clock is changed.
#[derive(Debug, Clone, Copy)]
enum Hours {
    /// Times of the day.
    Named,
    /// Time that passes.
    Every,
}

/// Why this is no schedule. The macro says it before, and better.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ScheduleFault {
    Schedule { expression: String, faults: Vec<Fault> },
    Zone { name: String },
}

impl Schedule {
    /// A schedule from `expression` and `zone` as they are declared.
    ///
    /// # Errors
    /// Exactly where `cron!` refuses them: both ask [`schedule_rules`].
    pub(crate) fn parse(expression: &str, zone: &str) -> Result<Schedule, ScheduleFault> {
        let cron = schedule_rules::check(expression)
            .map_err(|faults| ScheduleFault::Schedule { expression: expression.to_owned(), faults })?;
        let rules = schedule_rules::zone(zone).and_then(|rules| TimeZone::tzif(zone, rules).ok());
        let zone = rules.ok_or_else(|| ScheduleFault::Zone { name: zone.to_owned() })?;
        let hours = if begins_with_star(&cron) { Hours::Every } else { Hours::Named };
        Ok(Schedule { cron, zone, hours })
    }

    /// The first tick strictly after `instant`. None where there is none before the end of time as the calendar has it.
    pub(crate) fn next_after(&self, instant: SystemTime) -> Option<SystemTime> {
        let instant = Timestamp::try_from(instant).ok()?;
        let next = match self.hours {
            Hours::Named => self.next_named(instant),
            Hours::Every => self.next_passing(instant),
        };
        next.map(SystemTime::from)
    }

    /// The times of the wall clock in their order, each at its instant: the first one that is later.
    ///
    /// The instants never go backwards, so those of the times up to the present one are not later.
    fn next_named(&self, instant: Timestamp) -> Option<Timestamp> {
        let mut time = self.zone.to_datetime(instant);
        loop {
            time = self.cron.find_next_occurrence(&time, false).ok()?;
            let tick = self.instant_of(time)?;
            if tick > instant {
                return Some(tick);
            }
        }
    }

    /// The instant at which this time of the wall clock is due.
    fn instant_of(&self, time: DateTime) -> Option<Timestamp> {
        let due = self.zone.to_ambiguous_timestamp(time);
        match due.offset() {
            AmbiguousOffset::Gap { after, .. } => {
                // By the new offset, it lies before the change.
                let before = after.to_timestamp(time).ok()?;
                self.zone.following(before).next().map(|change| change.timestamp())
            }
            AmbiguousOffset::Unambiguous { .. } | AmbiguousOffset::Fold { .. } => due.earlier().ok(),
        }
    }

    /// From one change of the clock to the next, time passes evenly: the first instant at which the clock reads so.
    fn next_passing(&self, instant: Timestamp) -> Option<Timestamp> {
        let mut from = instant;
        // The change itself may be a tick; the given instant may not.
        let mut inclusive = false;
        loop {
            let offset = self.zone.to_offset(from);
            let time = self.cron.find_next_occurrence(&offset.to_datetime(from), inclusive).ok()?;
            let tick = offset.to_timestamp(time).ok()?;
            match self.zone.following(from).next() {
                Some(change) if change.timestamp() <= tick => from = change.timestamp(),
                _ => return Some(tick),
            }
            inclusive = true;
        }
    }
}

fn begins_with_star(cron: &Cron) -> bool {
    let fields: Vec<&str> = cron.pattern.as_str().split_ascii_whitespace().collect();
    // With a second first, or without.
    fields.len().checked_sub(4).and_then(|hour| fields.get(hour)).is_some_and(|hour| hour.starts_with('*'))
}

impl fmt::Display for ScheduleFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScheduleFault::Zone { name } => write!(
                f,
                "`{name}` is not a time zone of the IANA database, such as `Europe/Berlin`, nor `UTC`"
            ),
            ScheduleFault::Schedule { expression, faults } => {
                write!(f, "`{expression}` is not a schedule that `cron!` takes:")?;
                for (at, fault) in faults.iter().enumerate() {
                    f.write_str(if at == 0 { " " } else { "; " })?;
                    match fault {
                        Fault::Item { field, place, .. } => {
                            write!(
                                f,
                                "`{}` is not legal as the {}",
                                &expression[place.clone()],
                                field.called
                            )?;
                        }
                        Fault::Parser(words) => f.write_str(words)?,
                        Fault::Empty => f.write_str("it is empty")?,
                        Fault::Character { .. } => f.write_str("it has letters that are not ASCII")?,
                        Fault::Nickname => f.write_str("there is no such `@` form")?,
                        Fault::Setting => f.write_str("it begins with a setting")?,
                        Fault::Count { fields } => write!(f, "it has {fields} fields, not 5 or 6")?,
                        Fault::Never => f.write_str("it never runs")?,
                    }
                }
                Ok(())
            }
        }
    }
}

impl std::error::Error for ScheduleFault {}

#[cfg(test)]
#[path = "schedule_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "schedule_rules_tests.rs"]
mod rules_tests;
