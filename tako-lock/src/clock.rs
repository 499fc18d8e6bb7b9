//! The only file that reads time.
//!
//! Three clocks, and what each is for:
//! - the **monotonic clock of this host** ([`Moment`]) times every deadline, pause and round trip. It never jumps,
//!   and with [`HostClock::Boot`] it counts the time that the machine was suspended, so that a resumed
//!   holder learns of its loss on its first look;
//! - the **store's clock** ([`StoreTime`]) decides expiry, and is read through the backend only;
//! - the **wall clock of this host** says when a cron looks for its next tick, is a first guess for a store whose time
//!   could not be had yet, and dates logs. It is never compared with another machine's, and decides nothing about who
//!   holds what.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "this is the one file that may")]

use std::time::{Duration, SystemTime};

use tokio::time::Instant;

use crate::record::StoreTime;

/// An instant on the monotonic clock of one host: nanoseconds since an origin that means nothing elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(u64);

impl Moment {
    /// The instant so many nanoseconds after the clock's origin.
    pub const fn from_nanos(nanos: u64) -> Moment {
        Moment(nanos)
    }

    /// Nanoseconds since the clock's origin.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// This instant moved on by `span`.
    #[must_use]
    pub fn plus(self, span: Duration) -> Moment {
        Moment(self.0.saturating_add(nanos(span)))
    }

    /// This instant moved back by `span`, at most to the clock's origin.
    #[must_use]
    pub fn minus(self, span: Duration) -> Moment {
        Moment(self.0.saturating_sub(nanos(span)))
    }

    /// The time from `earlier` to this instant; zero when `earlier` is not earlier.
    pub fn since(self, earlier: Moment) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

fn nanos(span: Duration) -> u64 {
    span.as_secs().saturating_mul(1_000_000_000).saturating_add(u64::from(span.subsec_nanos()))
}

/// How a host tells monotonic time.
#[derive(Debug, Clone, Copy)]
pub(crate) enum HostClock {
    /// The runtime's clock: tests can pause it, and it stands still in suspend. Right for a store in this very
    /// process, which stands still as well.
    Runtime { origin: Instant },
    /// The time since the machine started, suspend included. Linux: `CLOCK_BOOTTIME`
    /// (<https://man7.org/linux/man-pages/man2/clock_gettime.2.html>). Elsewhere std's monotonic clock, which on
    /// some systems does not count suspend.
    Boot {
        #[cfg(not(any(target_os = "linux", target_os = "android")))]
        origin: std::time::Instant,
    },
}

impl HostClock {
    pub(crate) fn runtime() -> HostClock {
        HostClock::Runtime { origin: Instant::now() }
    }

    pub(crate) fn boot() -> HostClock {
        HostClock::Boot {
            #[cfg(not(any(target_os = "linux", target_os = "android")))]
            origin: std::time::Instant::now(),
        }
    }

    pub(crate) fn now(self) -> Moment {
        // Instants near zero are marks, never readings: see `engine::loss`.
        const FIRST: u64 = 60_000_000_000;
        let running = match self {
            HostClock::Runtime { origin } => Instant::now().saturating_duration_since(origin),
            #[cfg(any(target_os = "linux", target_os = "android"))]
            HostClock::Boot {} => {
                let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
                Duration::new(
                    u64::try_from(time.tv_sec).unwrap_or(0),
                    u32::try_from(time.tv_nsec).unwrap_or(0),
                )
            }
            #[cfg(not(any(target_os = "linux", target_os = "android")))]
            HostClock::Boot { origin } => origin.elapsed(),
        };
        Moment(FIRST.saturating_add(nanos(running)))
    }

    /// Ends at `at`, on a timer of the runtime that polls it.
    pub(crate) async fn sleep_until(self, at: Moment) {
        // The runtime's timers stand still in suspend. Looking again every second bounds how late one is then.
        const LOOK: Duration = Duration::from_secs(1);
        loop {
            let left = at.since(self.now());
            if left.is_zero() {
                return;
            }
            let nap = if matches!(self, HostClock::Boot { .. }) { left.min(LOOK) } else { left };
            tokio::time::sleep(nap).await;
        }
    }
}

/// The wall clock: a guess, and for logs.
pub(crate) fn wall() -> StoreTime {
    StoreTime::from(SystemTime::now())
}

/// The same where it follows the runtime's clock: that is another one only in tests, which pause it and move it on.
pub(crate) fn runtimes_wall() -> StoreTime {
    let (runtimes, now) = (Instant::now().into_std(), std::time::Instant::now());
    let (wall, behind) = (SystemTime::now(), now.checked_duration_since(runtimes));
    let shown = match behind {
        Some(behind) => wall.checked_sub(behind),
        None => wall.checked_add(runtimes.duration_since(now)),
    };
    StoreTime::from(shown.unwrap_or(wall))
}

/// The clock of a table in memory: wall time when the table was made, then the runtime's monotonic clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TableClock {
    started: Instant,
    wall: StoreTime,
}

impl TableClock {
    pub(crate) fn new() -> TableClock {
        TableClock { started: Instant::now(), wall: runtimes_wall() }
    }

    pub(crate) fn now(self) -> StoreTime {
        self.wall.plus(Instant::now().saturating_duration_since(self.started))
    }
}

#[cfg(test)]
mod tests {
    use super::{Duration, HostClock, Moment};

    #[tokio::test(start_paused = true)]
    async fn the_runtimes_clock_follows_paused_time() {
        let clock = HostClock::runtime();
        let start = clock.now();
        clock.sleep_until(start.plus(Duration::from_secs(25))).await;
        assert_eq!(clock.now().since(start), Duration::from_secs(25));
    }

    #[test]
    fn no_reading_is_a_mark() {
        assert!(HostClock::runtime().now() > Moment::from_nanos(1));
        assert!(HostClock::boot().now() > Moment::from_nanos(1));
    }

    #[test]
    fn moments_saturate() {
        let origin = Moment::from_nanos(0);
        assert_eq!(origin.minus(Duration::from_secs(1)), origin);
        assert_eq!(origin.since(origin.plus(Duration::MAX)), Duration::ZERO);
        assert_eq!(Moment::from_nanos(u64::MAX).plus(Duration::from_nanos(1)), Moment::from_nanos(u64::MAX));
    }
}
