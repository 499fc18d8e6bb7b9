//! Claim: a lease that is being asked for. Whoever drops it, its outcome is settled, and what was won is given back.

use std::time::Duration;

use scopeguard::ScopeGuard;

use super::queue::Turn;
use super::release::Release;
use super::step::Confirmed;
use super::store_time::Reading;
use super::visit::Visit;
use super::write::{Effort, Outcome, Write};
use super::{LeftToLapse, Shared};
use crate::backend::{BackendError, Extra, Fence, Record, StoreTime, Stored, Token};
use crate::clock::Moment;

/// Dropped unsettled, it goes on in the background.
pub(crate) struct Claim(ScopeGuard<Parts, fn(Parts)>);

struct Parts {
    write: Write,
    /// What the record goes back to if no work is started under the claim.
    mark_before: Option<StoreTime>,
    /// Kept until the claim is settled: before, nobody in this process can be told how the lock stands.
    turn: Turn,
}

/// A claim that has been sent.
pub(crate) enum Sent {
    Settled(Claimed),
    Pending(Claim),
}

/// How a claim came out.
pub(crate) enum Claimed {
    Won {
        turn: Turn,
        record: Record,
        mark_before: Option<StoreTime>,
        token: Token,
        confirmed: Confirmed,
    },
    /// The record is not ours, and this is what stands there.
    Lost {
        turn: Turn,
        found: Option<Stored>,
    },
    /// Nobody knows yet.
    Unsettled {
        claim: Claim,
        error: BackendError,
    },
}

impl Claim {
    /// `visit`'s claim, made at `now`, when the store's clock was read so, on the version `expected`, which says `free`.
    /// One for a tick marks it in the very write that takes the lease.
    pub(super) fn new(
        visit: &Visit<'_>,
        now: Moment,
        reading: Option<Reading>,
        turn: Turn,
        expected: Option<Token>,
        fence: Fence,
        free: Option<Record>,
    ) -> Claim {
        let Visit { slot, mode, .. } = visit;
        let (expires, error) = slot.shared.expiry_from(reading, None);
        // A fresh owner for each claim: to it the record of an earlier one is somebody else's, like any.
        let owner = slot.shared.new_owner(now);
        let mark_before = free.as_ref().and_then(|free| free.mark);
        let mark = mode.tick().or(mark_before);
        let record = match free {
            Some(free) => Record { owner, expires, fence, mark, ..free },
            None => Record { owner, expires, fence, lock: slot.key.lock().clone(), mark, extra: Extra::NONE },
        };
        let write = Write::new((*slot).clone(), now, expected, record, error);
        Claim(scopeguard::guard(Parts { write, mark_before, turn }, Parts::settle_in_background))
    }

    /// Sends it; it is settled at once where the store is in memory.
    pub(super) fn send(mut self) -> Sent {
        match self.0.write.send() {
            Some(answer) => Sent::Settled(self.settled(answer)),
            None => Sent::Pending(self),
        }
    }

    pub(super) async fn settle(mut self, effort: Effort, failed: impl Fn(&BackendError)) -> Claimed {
        let answer = self.0.write.settle(effort, failed).await;
        self.settled(answer)
    }

    fn settled(self, answer: Result<Outcome, BackendError>) -> Claimed {
        let outcome = match answer {
            Ok(outcome) => outcome,
            Err(error) => return Claimed::Unsettled { claim: self, error },
        };
        let Parts { write, mark_before, turn } = ScopeGuard::into_inner(self.0);
        match outcome {
            Outcome::Landed { token, confirmed } => {
                Claimed::Won { turn, record: write.into_record(), mark_before, token, confirmed }
            }
            Outcome::Earlier(found) => Claimed::Lost { turn, found: Some(found) },
            Outcome::Others(found) => Claimed::Lost { turn, found },
        }
    }

    /// Whether some copy of it may be in the store, or may get there yet.
    pub(super) fn may_land(&self) -> bool {
        self.0.write.may_land()
    }

    /// Lets it be. A copy that lands all the same is nobody's: it runs out.
    pub(super) fn abandon(self) -> Turn {
        ScopeGuard::into_inner(self.0).turn
    }
}

impl Parts {
    fn settle_in_background(self) {
        if !self.write.may_land() {
            return;
        }
        let slot = self.write.slot().clone();
        slot.finish_in_background(Box::pin(self.settle_and_give_back()));
    }

    async fn settle_and_give_back(self) {
        let Parts { mut write, mark_before, turn } = self;
        let slot = write.slot().clone();
        let Shared { world, policy, .. } = &*slot.shared;
        let (closing, number) = (&slot.shared.closing, slot.shared.heartbeats.number());
        let (lock, fence) = (slot.name.clone(), write.record().fence);
        closing.note(number, LeftToLapse { lock, fence, held_for: Duration::ZERO });
        // After a TTL the record has run out by itself.
        let effort = Effort::patient(world.now().plus(policy.ttl));
        match write.settle(effort, |_| {}).await {
            Ok(Outcome::Landed { token, .. }) => {
                tracing::debug!(
                    lock = &*slot.name,
                    "the caller went away while the lease was being granted: giving it back"
                );
                let (now, record) = (world.now(), Record { mark: mark_before, ..write.into_record() });
                Release::of_claim(slot.clone(), number, now, record, token, turn).settle().await;
            }
            // What nobody could settle is named by a shutdown; without one it has run out by now.
            Err(_) if closing.has_begun() => {}
            _ => closing.forget(number),
        }
    }
}
