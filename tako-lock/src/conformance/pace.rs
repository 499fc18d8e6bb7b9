//! How hard the suite may push.

use std::time::Duration;

/// How far two readings of one store's clock may disagree. The servers of a store need not share one clock to the
/// millisecond; the engine's margins bear this much.
pub const CLOCK_TOLERANCE: Duration = Duration::from_secs(1);

/// How hard the suite pushes a store: [`Pace::FULL`] unless the store limits its rate.
///
/// A request that is [throttled](crate::backend::ErrorKind::Throttled) is sent again after a pause, whatever the
/// pace, until [`patience`](Pace::patience) is used up.
///
/// # Examples
/// ```
/// use tako::conformance::Pace;
///
/// let pace = Pace { racers: 20, ..Pace::ONE_WRITE_A_SECOND };
/// assert_eq!(pace.gap.as_millis(), 1_100);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// How many swaps meet in one race; at least two.
    pub racers: usize,
    /// How many races in a row; at least one.
    pub rounds: usize,
    /// How many writes one after another prove what only many writes can; at least three.
    pub writes: usize,
    /// The pause after a write before the next to the same key. Races start after one, and have none within.
    pub gap: Duration,
    /// How long a request may be throttled in all before the suite gives up on it.
    pub patience: Duration,
    /// How long one test of [`suite!`](super::suite) may take before the store is said to hang.
    pub limit: Duration,
}

impl Pace {
    /// A hundred racers, no pauses: memory, files, a database.
    pub const FULL: Pace = Pace {
        racers: 100,
        rounds: 20,
        writes: 300,
        gap: Duration::ZERO,
        patience: Duration::from_secs(10),
        limit: Duration::from_mins(2),
    };

    /// For a store that takes one write per second and object, as Google Cloud Storage does. Enough to tell right
    /// from wrong, in a minute or so.
    pub const ONE_WRITE_A_SECOND: Pace = Pace {
        racers: 6,
        rounds: 2,
        writes: 5,
        gap: Duration::from_millis(1_100),
        patience: Duration::from_mins(1),
        limit: Duration::from_mins(5),
    };

    pub(super) fn racers(&self) -> u64 {
        count(self.racers.max(2))
    }

    pub(super) fn rounds(&self) -> u64 {
        count(self.rounds.max(1))
    }

    pub(super) fn writes(&self) -> u64 {
        count(self.writes.max(3))
    }
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

impl Default for Pace {
    fn default() -> Pace {
        Pace::FULL
    }
}
