//! PURE: from an expression to instants. Stands in until the macros' half has its own.

use std::time::SystemTime;

use chrono::{DateTime, Utc};

pub(crate) struct Schedule(croner::Cron);

impl Schedule {
    /// `expression` and `zone` as declared.
    pub(crate) fn parse(expression: &str, _zone: &str) -> Result<Schedule, String> {
        expression.parse().map(Schedule).map_err(|error: croner::errors::CronError| error.to_string())
    }

    /// The first tick strictly after `instant`; `None`: never again.
    pub(crate) fn next_after(&self, instant: SystemTime) -> Option<SystemTime> {
        let since = instant.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let at = DateTime::<Utc>::from_timestamp(
            i64::try_from(since.as_secs()).unwrap_or(i64::MAX),
            since.subsec_nanos(),
        )?;
        self.0.find_next_occurrence(&at, false).ok().map(|at| {
            SystemTime::UNIX_EPOCH
                + std::time::Duration::from_secs(u64::try_from(at.timestamp()).unwrap_or(0))
        })
    }
}
