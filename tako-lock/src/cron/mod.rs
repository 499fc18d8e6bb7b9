//! Work on a schedule.

mod schedule;
mod schedule_rules;

pub(crate) use schedule::Schedule;

/// Work that is due on a schedule, declared by [`cron!`](macro@crate::cron).
#[derive(Debug)]
pub struct Cron {
    name: &'static str,
    schedule: &'static str,
    zone: &'static str,
}

impl Cron {
    pub(crate) const fn new(name: &'static str, schedule: &'static str, zone: &'static str) -> Cron {
        Cron { name, schedule, zone }
    }

    /// The name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The schedule, as declared.
    pub fn schedule(&self) -> &'static str {
        self.schedule
    }

    /// The time zone.
    pub fn zone(&self) -> &'static str {
        self.zone
    }
}
