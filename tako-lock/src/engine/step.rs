//! PURE: what was observed, and when, to what is done next. No async, no I/O. The tables of its tests are the
//! specification.

use std::sync::Arc;
use std::time::Duration;

use super::store_time::Reading;
use crate::backend::{BackendError, ErrorKind, Fence, Owner, Record, StoreTime, Stored, Token};
use crate::clock::Moment;
use crate::policy::{EARLY, Policy};

/// A record version that one process has been looking at, and since when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Watched {
    /// Which version.
    pub token: Token,
    /// When it was seen first.
    pub since: Moment,
}

/// What a campaigner goes by.
pub struct View<'a> {
    /// When it last looked at the record.
    pub now: Moment,
    /// The store's time, when it is known.
    pub store: Option<Reading>,
    /// The store has just been asked for its time: it will not be known any better.
    pub is_fresh: bool,
    /// The version that was seen at the last look, when it was seen first.
    pub watched: Option<&'a Watched>,
    /// What the lease is wanted for, if only for that: one tick of a cron.
    pub tick: Option<StoreTime>,
    /// The timing that all engines run under.
    pub policy: &'a Policy,
}

/// What a campaigner does next, given the record as last seen.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// The lock is free: swap on this token, with this fence.
    Take {
        /// On which version; `None` while there is no record.
        expected: Option<Token>,
        /// The fence of the hold that is asked for.
        fence: Fence,
    },
    /// Somebody holds it.
    Wait,
    /// The tick, or a later one, was claimed before.
    Spent {
        /// Which.
        mark: StoreTime,
    },
    /// The tick is so far ahead of the store's time: the clock that told it is wrong.
    Early {
        /// How far.
        by: Duration,
    },
    /// It may have expired, but the store's time is not known well enough to say so: ask the store first.
    Calibrate,
    /// What is stored is not our record, or cannot be continued.
    Refuse(RecordFault),
}

/// Why a record is left alone.
#[derive(Debug, PartialEq, Eq)]
pub enum RecordFault {
    /// It is another lock's.
    Foreign {
        /// The identity that it bears.
        found: Arc<str>,
    },
    /// There is no higher fence.
    FenceExhausted,
}

impl From<RecordFault> for BackendError {
    fn from(fault: RecordFault) -> BackendError {
        let message = match fault {
            RecordFault::Foreign { found } => format!("it bears the identity `{found}`, another lock's"),
            RecordFault::FenceExhausted => "its fence is the highest number there is".to_owned(),
        };
        BackendError::new(ErrorKind::Corrupt, message)
    }
}

/// Decides what a campaigner for `lock` does, having seen `stored` in the record's place.
pub fn judge(lock: &str, stored: Option<&Stored>, view: &View<'_>) -> Step {
    let step = judge_lease(lock, stored, view);
    let Some(tick) = view.tick else { return step };
    let mark = stored.and_then(|stored| stored.record.mark).filter(|mark| *mark >= tick);
    match (step, mark) {
        (step @ Step::Refuse(_), _) => step,
        // Whoever holds it now: the record will not say otherwise.
        (_, Some(mark)) => Step::Spent { mark },
        (step @ Step::Take { .. }, None) => earliness(tick, view).unwrap_or(step),
        (step, None) => step,
    }
}

/// Whether `tick` must not be claimed yet. A mark in the future would keep every other instance from all ticks up to it.
fn earliness(tick: StoreTime, view: &View<'_>) -> Option<Step> {
    let Some(store) = view.store else { return Some(Step::Calibrate) };
    let by = |time: StoreTime| tick.since(time);
    if by(store.earliest()) <= EARLY {
        None
    } else if by(store.latest()) <= EARLY && !view.is_fresh {
        Some(Step::Calibrate)
    } else {
        Some(Step::Early { by: by(store.time) })
    }
}

fn judge_lease(lock: &str, stored: Option<&Stored>, view: &View<'_>) -> Step {
    let Some(Stored { record, token }) = stored else {
        return match view.store {
            // A new record starts above all that may have been handed out under one that was removed: not behind the
            // present, where a takeover is never ahead of it (I2).
            Some(reading) if view.is_fresh || reading.error <= view.policy.guard / 4 => {
                Step::Take { expected: None, fence: Fence::new(reading.latest().as_millis()) }
            }
            _ => Step::Calibrate,
        };
    };
    if *record.lock != *lock {
        return Step::Refuse(RecordFault::Foreign { found: record.lock.clone() });
    }
    let expiry = if record.is_released() { Expiry::Past } else { expiry(record.expires, token, view) };
    match expiry {
        // Up to the present as well (I2): a record that a write had made which was on its way while another was removed
        // remembers less than has been handed out.
        Expiry::Past => match record.fence.get().checked_add(1) {
            Some(next) => {
                let present = view.store.map_or(0, |reading| reading.earliest().as_millis());
                Step::Take { expected: Some(token.clone()), fence: Fence::new(next.max(present)) }
            }
            None => Step::Refuse(RecordFault::FenceExhausted),
        },
        Expiry::Ahead => Step::Wait,
        Expiry::Unknown => Step::Calibrate,
    }
}

enum Expiry {
    Past,
    Ahead,
    Unknown,
}

/// Whether a live holder may still count on a record that expires at `expires`.
///
/// Two rules, each sound by itself; the host's wall clock is in neither.
fn expiry(expires: StoreTime, token: &Token, view: &View<'_>) -> Expiry {
    let policy = view.policy;
    // A holder renews every HEARTBEAT and gives up TTL - MARGIN after the send of its last write. A version that
    // stood still for TTL + GUARD on this host's clock was sent before it was seen first, so its holder has given up.
    let watched_out = view.watched.is_some_and(|watched| {
        watched.token == *token && view.now.since(watched.since) >= policy.ttl + policy.guard
    });
    if watched_out {
        return Expiry::Past;
    }
    let Some(reading) = view.store else { return Expiry::Unknown };
    let takeable = expires.plus(policy.guard);
    if reading.earliest() >= takeable {
        Expiry::Past
    } else if reading.latest() >= takeable && reading.error > policy.guard / 4 {
        Expiry::Unknown
    } else {
        Expiry::Ahead
    }
}

/// What a record that refused a write, or was found in its place, says about that write.
#[derive(Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is our write: it landed, and its answer was lost.
    Ours(Token),
    /// It is another write by the same owner.
    Earlier(Stored),
    /// It is somebody else's, or gone.
    Others(Option<Stored>),
}

/// Tells whose write `stored` is, seen from the one that wrote `ours`.
pub fn after_refusal(ours: &Record, stored: Option<Stored>) -> Refusal {
    match stored {
        // A hold never writes the same `expires` twice, so owner and expiry identify one write.
        Some(stored) if stored.record.owner == ours.owner && stored.record.expires == ours.expires => {
            Refusal::Ours(stored.token)
        }
        // Marked free, but not by us: an operator's hand.
        Some(stored) if stored.record.owner == ours.owner && !stored.record.is_released() => {
            Refusal::Earlier(stored)
        }
        other => Refusal::Others(other),
    }
}

/// One confirmed write of a lease, as its validity is reckoned.
#[derive(Debug)]
pub struct Confirmed {
    /// Before the first send of this very body.
    pub first_sent: Moment,
    /// When its outcome was known.
    pub known: Moment,
    /// Before the send that was answered, and the store's time of the write; unknown after a lost answer.
    pub applied: Option<(Moment, StoreTime)>,
    /// What the record says.
    pub expires: StoreTime,
    /// How far off the store's time may have been when `expires` was reckoned; `None` when it was a guess.
    pub error: Option<Duration>,
}

/// Until when the holder may count on a confirmed write; `None` when nobody can tell.
pub fn deadline(write: &Confirmed, policy: &Policy) -> Option<Moment> {
    // Counted from before the request left. The store may have applied it at any instant since, so a deadline
    // counted from the answer could outlive the record.
    let by_send = write.first_sent.plus(policy.ttl);
    let by_store = match (write.applied, write.error) {
        // What the store itself says of the time that is left, however wrong `expires` was reckoned.
        (Some((sent, at)), _) => sent.plus(write.expires.since(at)),
        (None, Some(error)) => by_send.minus(error),
        (None, None) => return None,
    };
    Some(by_send.min(by_store).minus(policy.margin))
}

/// When the next heartbeat is due for a lease that is good until `deadline`, as became known at `known`. After a
/// write that took long, or that the store found less left of than was reckoned, that is soon: but no sooner than
/// the store takes another write of one record.
pub fn beat_due(deadline: Moment, known: Moment, policy: &Policy) -> Moment {
    deadline.minus(policy.slack()).max(known.plus(policy.pace))
}

/// Whether a lease that is good until `deadline` is worth starting work under.
pub fn is_useful(deadline: Moment, now: Moment, policy: &Policy) -> bool {
    deadline.since(now) >= policy.useful
}

/// What ended a hold whose record was found in the hands of others.
pub(super) fn loss_of(record: Option<Record>, ours: &Owner) -> crate::error::LossCause {
    use crate::error::LossCause::{Taken, Vanished};
    match record {
        Some(Record { owner, fence, .. }) if owner != *ours => Taken { by: owner, fence },
        _ => Vanished,
    }
}

#[cfg(test)]
#[path = "step_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "step_properties.rs"]
mod properties;
