//! Loss: one atomic word tells whether a hold is still good, and it latches.
//!
//! The word holds the deadline. A heartbeat moves it on, but only from the value that it saw, and only while that
//! value has not passed; a look that finds it passed puts it to LOST; and from LOST or ENDED nothing leads back.
//! So whoever was told "lost" stays right, whatever a late heartbeat brings.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::clock::Moment;

/// Marks, below every reading of a clock.
const LOST: u64 = 0;
const ENDED: u64 = 1;

/// How a hold stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Good.
    Live,
    /// Its deadline has passed, or its record is somebody else's.
    Lost,
    /// Given back, by the holder itself.
    Ended,
}

/// Until when a hold may count on its lease, and whether it is over.
pub struct Deadline(AtomicU64);

impl Deadline {
    /// Of a hold that is live until `at`.
    pub fn new(at: Moment) -> Deadline {
        Deadline(AtomicU64::new(at.as_nanos()))
    }

    /// How the hold stands at `now`. A deadline found passed is latched as lost.
    pub fn standing(&self, now: Moment) -> Standing {
        self.settle(now, None)
    }

    /// Moves the deadline on, unless the hold is over: a holder past its deadline never renews, it has lost.
    pub fn extend(&self, now: Moment, to: Moment) -> Standing {
        self.settle(now, Some(to.as_nanos()))
    }

    /// Ends the hold by its holder's will; tells how it stood just before.
    pub fn end(&self, now: Moment) -> Standing {
        self.settle(now, Some(ENDED))
    }

    /// Ends the hold as lost, whatever the clock says; tells whether it was live until now.
    pub fn lose(&self) -> bool {
        let is_live = |word| (word > ENDED).then_some(LOST);
        self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, is_live).is_ok()
    }

    /// The deadline of a hold that is not over.
    pub fn get(&self) -> Option<Moment> {
        let word = self.0.load(Ordering::Acquire);
        (word > ENDED).then(|| Moment::from_nanos(word))
    }

    fn settle(&self, now: Moment, next: Option<u64>) -> Standing {
        let mut word = self.0.load(Ordering::Acquire);
        loop {
            let (standing, next) = match word {
                LOST => return Standing::Lost,
                ENDED => return Standing::Ended,
                deadline if now.as_nanos() >= deadline => (Standing::Lost, LOST),
                _ => match next {
                    None => return Standing::Live,
                    Some(next) => (Standing::Live, next),
                },
            };
            match self.0.compare_exchange(word, next, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return standing,
                Err(changed) => word = changed,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Deadline, Moment, Standing};

    const fn at(seconds: u64) -> Moment {
        Moment::from_nanos(seconds * 1_000_000_000)
    }

    #[test]
    fn it_counts_by_itself_and_latches() {
        let deadline = Deadline::new(at(28));
        assert_eq!(deadline.standing(at(27)), Standing::Live);
        assert_eq!(deadline.standing(at(28)), Standing::Lost, "the deadline itself is too late");
        assert_eq!(deadline.extend(at(10), at(60)), Standing::Lost, "a late heartbeat does not revive it");
        assert_eq!(deadline.standing(at(1)), Standing::Lost);
        assert_eq!(deadline.get(), None);
    }

    #[test]
    fn a_heartbeat_past_the_deadline_is_a_loss() {
        let deadline = Deadline::new(at(28));
        assert_eq!(deadline.extend(at(10), at(38)), Standing::Live);
        assert_eq!(deadline.extend(at(38), at(66)), Standing::Lost);
    }

    #[test]
    fn ending_and_losing_exclude_each_other() {
        let ended = Deadline::new(at(28));
        assert_eq!(ended.end(at(5)), Standing::Live);
        assert!(!ended.lose());
        assert_eq!((ended.standing(at(100)), ended.get()), (Standing::Ended, None));
        let lost = Deadline::new(at(28));
        assert!(lost.lose());
        assert!(!lost.lose(), "a loss is told once");
        assert_eq!(lost.end(at(5)), Standing::Lost);
    }
}
