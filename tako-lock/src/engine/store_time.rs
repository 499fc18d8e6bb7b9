//! The store's time, as one process knows it: an offset from the host's monotonic clock, with an error bound.
//!
//! Every request that the store dates brackets its clock between the send and the answer. Between two samples the
//! bound widens by what two clocks may run apart, so an old estimate is never trusted more than it deserves.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::Shared;
use crate::backend::{BackendError, StoreTime};
use crate::clock::Moment;
use crate::policy::Policy;

/// The store's time at one instant, give or take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    /// What it is most likely to be.
    pub time: StoreTime,
    /// How far off that may be, either way.
    pub error: Duration,
}

impl Reading {
    pub(crate) fn earliest(&self) -> StoreTime {
        // Rounded against the campaigner: up to the next millisecond.
        let error = self.error.saturating_add(Duration::from_micros(999));
        StoreTime::from_millis(
            self.time.as_millis().saturating_sub(StoreTime::RELEASED.plus(error).as_millis()),
        )
    }

    pub(crate) fn latest(&self) -> StoreTime {
        self.time.plus(self.error)
    }
}

/// One dated request: at the midpoint of send and answer the store's clock stood at `time`, give or take `error`.
#[derive(Debug, Clone, Copy)]
struct Sample {
    taken: Moment,
    time: StoreTime,
    error: Duration,
}

impl Sample {
    fn reading(&self, now: Moment) -> Reading {
        let age = now.since(self.taken);
        let drift = age / (100 / Policy::DRIFT_PERCENT);
        Reading { time: self.time.plus(age), error: self.error.saturating_add(drift) }
    }
}

/// The best sample that this process has.
#[derive(Default)]
pub(super) struct StoreClock {
    sample: Mutex<Option<Sample>>,
    /// The last write was confirmed without a date.
    is_undated: AtomicBool,
    /// Taken for the length of one probe; keeps when the last one ended, and how.
    probe: tokio::sync::Mutex<Option<(Moment, Result<(), BackendError>)>>,
}

impl StoreClock {
    /// The store's time at `now`; `None` while no request has been dated.
    pub(super) fn read(&self, now: Moment) -> Option<Reading> {
        self.sample().as_ref().map(|sample| sample.reading(now))
    }

    /// Learns from a request that left at `sent`, was answered at `received`, and was dated `at` by the store.
    pub(super) fn learn(&self, sent: Moment, received: Moment, at: StoreTime) {
        self.is_undated.store(false, Ordering::Relaxed);
        let error = received.since(sent) / 2;
        let fresh = Sample { taken: sent.plus(error), time: at, error };
        let mut sample = self.sample();
        // One that contradicts what was known means that a clock has jumped: the present is what counts.
        let replaces = sample.is_none_or(|old| {
            let (old, fresh) = (old.reading(received), fresh.reading(received));
            fresh.error <= old.error || fresh.latest() < old.earliest() || old.latest() < fresh.earliest()
        });
        if replaces {
            *sample = Some(fresh);
        }
    }

    /// Whether a record may be dated by this clock as it is. A store that dates its writes tells the holder itself
    /// how long each is good for; where no date comes back, all that the estimate may be off comes out of the lease.
    pub(super) fn can_date(&self, reading: Option<Reading>, policy: &Policy) -> bool {
        reading.is_some_and(|reading| {
            !self.is_undated.load(Ordering::Relaxed) || reading.error <= policy.guard / 4
        })
    }

    /// Learns that a write was confirmed without a date: by a store that gives none, or by a look at the record.
    pub(super) fn learn_undated(&self) {
        self.is_undated.store(true, Ordering::Relaxed);
    }

    fn sample(&self) -> MutexGuard<'_, Option<Sample>> {
        self.sample.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shared {
    /// What a record says of its end that is made when the store's clock is read so, and how far off that may be.
    /// Without a reading it is a guess from the host's wall clock: what the store then says of the write decides how
    /// long it is good for.
    pub(super) fn expiry_from(
        &self,
        reading: Option<Reading>,
        last: Option<StoreTime>,
    ) -> (StoreTime, Option<Duration>) {
        let (time, error) = match reading {
            Some(reading) => (reading.time, Some(reading.error)),
            None => (self.world.wall(), None),
        };
        let expires = time.plus(self.policy.ttl);
        // A hold never writes the same `expires` twice: with the owner it tells one write from another.
        let again = if last == Some(expires) { Duration::from_millis(1) } else { Duration::ZERO };
        (expires.plus(again), error)
    }

    /// Asks the store for its time. Any number of campaigns that ask at once make one request.
    pub(super) async fn calibrate(&self) -> Result<(), BackendError> {
        let asked = self.world.now();
        let mut last = self.store_clock.probe.lock().await;
        match &*last {
            Some((at, answer)) if *at >= asked => return answer.clone(),
            // No use in asking a store that has just refused.
            Some((at, Err(error))) if self.world.now() < at.plus(self.policy.poll) => {
                return Err(error.clone());
            }
            _ => {}
        }
        let answer = self.probe().await;
        *last = Some((self.world.now(), answer.clone()));
        answer
    }

    async fn probe(&self) -> Result<(), BackendError> {
        // A slow answer says little about the time; it is asked for once more.
        for _ in 0..2 {
            let sent = self.world.now();
            let time = self.store.now().answer().await?;
            let received = self.world.now();
            self.store_clock.learn(sent, received, time);
            if received.since(sent) <= Duration::from_secs(1) {
                break;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Duration, Moment, Reading, StoreClock, StoreTime};

    const fn at(millis: u64) -> Moment {
        Moment::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn a_sample_brackets_the_store_and_widens_with_age() {
        let clock = StoreClock::default();
        assert_eq!(clock.read(at(0)), None);
        clock.learn(at(1_000), at(1_400), StoreTime::from_millis(50_000));
        let reading = clock.read(at(1_200)).unwrap();
        assert_eq!(
            (reading.time, reading.error),
            (StoreTime::from_millis(50_000), Duration::from_millis(200))
        );
        let later = clock.read(at(101_200)).unwrap();
        assert_eq!(
            (later.time, later.error),
            (StoreTime::from_millis(150_000), Duration::from_millis(5_200))
        );
        assert!(
            later.earliest() < StoreTime::from_millis(144_801)
                && later.latest() >= StoreTime::from_millis(155_200)
        );
    }

    #[test]
    fn a_worse_sample_does_not_replace_a_better_one_until_that_has_aged() {
        let clock = StoreClock::default();
        clock.learn(at(1_000), at(1_010), StoreTime::from_millis(1_000));
        clock.learn(at(1_010), at(3_010), StoreTime::from_millis(2_500));
        assert_eq!(clock.read(at(3_010)).unwrap().time, StoreTime::from_millis(3_005));
        clock.learn(at(41_000), at(43_000), StoreTime::from_millis(50_000));
        assert_eq!(clock.read(at(43_000)).unwrap().time, StoreTime::from_millis(51_000));
    }

    #[test]
    fn a_sample_that_contradicts_the_last_one_wins() {
        let clock = StoreClock::default();
        clock.learn(at(1_000), at(1_010), StoreTime::from_millis(1_000));
        clock.learn(at(2_000), at(2_100), StoreTime::from_millis(3_600_000));
        assert_eq!(clock.read(at(2_050)).unwrap().time, StoreTime::from_millis(3_600_000));
        // However much worse it is: only one that agrees has to be better.
        for (dated, then) in [(9_000, 10_000), (500, 1_500), (3_000, 3_995)] {
            let clock = StoreClock::default();
            clock.learn(at(1_000), at(1_010), StoreTime::from_millis(1_000));
            clock.learn(at(2_000), at(4_000), StoreTime::from_millis(dated));
            assert_eq!(clock.read(at(4_000)).unwrap().time, StoreTime::from_millis(then));
        }
    }

    #[test]
    fn a_hold_never_writes_the_same_expiry_twice() {
        let engine = crate::Engine::memory();
        let shared = &engine.inner.shared;
        let reading = Reading { time: StoreTime::from_millis(1_000), error: Duration::ZERO };
        let expires = |last| shared.expiry_from(Some(reading), last).0.as_millis();
        assert_eq!(expires(None), 31_000);
        assert_eq!(expires(Some(StoreTime::from_millis(30_999))), 31_000);
        assert_eq!(expires(Some(StoreTime::from_millis(31_000))), 31_001);
    }
}
