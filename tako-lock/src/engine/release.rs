//! Release: rewrites the record as free, within a budget of its own, whatever becomes of the caller.
//!
//! It never deletes: the fence survives, a lost answer can be proved, and no delete-then-create race exists. It
//! writes only over what this hold wrote last; if anything else stands there, it is somebody else's and stays.

use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;

use scopeguard::ScopeGuard;

use super::hold::Hold;
use super::queue::{Slot, Turn};
use super::write::{Effort, Outcome, Write};
use super::{LeftToLapse, Shared};
use crate::backend::{BackendError, ErrorKind, Record, StoreTime, Stored, Token};
use crate::clock::Moment;
use crate::world::BoxFuture;

/// A lease on its way back. Dropped unfinished, it goes on in the background.
pub(super) struct Release(ScopeGuard<Parts, fn(Parts)>);

struct Parts {
    write: Write,
    until: Moment,
    /// Of its hold or claim: what a shutdown names it by.
    number: u64,
    hold: Option<Booked>,
    /// Kept until the record is free: the next in the local queue is woken then.
    turn: Turn,
}

/// A hold that is on the engine's book until its release is settled, or is dropped where no runtime is left for it.
struct Booked(Arc<Hold>);

impl Drop for Booked {
    fn drop(&mut self) {
        self.0.slot.shared.heartbeats.strike(&self.0);
    }
}

impl Release {
    /// Gives back, from `now` on, the lease of a hold that has ended; `None` when it is being given back already.
    pub(super) fn of_hold(hold: Arc<Hold>, now: Moment, turn: Turn) -> Option<Release> {
        let (record, token) = hold.take_version()?;
        let (slot, number) = (hold.slot.clone(), hold.number);
        Some(Release::over(slot, number, Some(Booked(hold)), now, record, token, turn))
    }

    /// Gives back, from `now` on, a lease that never became a hold: `record`, at version `token`, by the claim `number`, with
    /// the mark that it is to go back to. Nothing was started under it, and it is written over our own version or not at
    /// all.
    pub(super) fn of_claim(
        slot: Arc<Slot>,
        number: u64,
        now: Moment,
        record: Record,
        token: Token,
        turn: Turn,
    ) -> Release {
        Release::over(slot, number, None, now, record, token, turn)
    }

    fn over(
        slot: Arc<Slot>,
        number: u64,
        hold: Option<Booked>,
        now: Moment,
        record: Record,
        token: Token,
        turn: Turn,
    ) -> Release {
        let until = now.plus(slot.shared.policy.release);
        let free = Record { expires: StoreTime::RELEASED, ..record };
        let write = Write::new(slot, now, Some(token), free, None);
        Release(scopeguard::guard(Parts { write, until, number, hold, turn }, Parts::settle_in_background))
    }

    /// Sends it; `None` when it was settled at once, as where the store is in memory.
    pub(super) fn send(mut self) -> Option<Release> {
        match self.0.write.send() {
            Some(Ok(Outcome::Landed { token, .. })) => {
                ScopeGuard::into_inner(self.0).finish(Some(token));
                None
            }
            // Settling it sends it once more, which an outcome of any other kind takes.
            _ => Some(self),
        }
    }

    /// Ends when the record is free, when it turned out to be somebody else's, or when the budget is used up.
    pub(super) async fn settle(mut self) -> Turn {
        let freed = self.0.settle().await;
        ScopeGuard::into_inner(self.0).finish(freed)
    }
}

impl Parts {
    fn settle_in_background(mut self) {
        let slot = self.write.slot().clone();
        slot.finish_in_background(Box::pin(async move {
            let freed = self.settle().await;
            self.finish(freed);
        }));
    }

    /// The version that says "free", if there is one of ours.
    async fn settle(&mut self) -> Option<Token> {
        let slot = self.write.slot().clone();
        let lock = &*slot.name;
        let failed = |error: &BackendError| tracing::debug!(lock, %error, "release failed; trying again");
        let mut may_insist = true;
        let why = loop {
            match self.write.settle_strictly(Effort::quick(self.until), failed).await {
                Some(Ok(Outcome::Landed { token, .. })) => return Some(token),
                // A heartbeat that was in flight landed after all: once more, over that.
                Some(Ok(Outcome::Earlier(stored))) => self.write.retarget(stored.token),
                Some(Ok(Outcome::Others(_))) => {
                    tracing::debug!(lock, "lease already gone when it was to be released: nothing touched");
                    self.is_gone();
                    return None;
                }
                // One refusal may be a stray: a token that is just being exchanged. Others would wait for a lease because
                // of it, so it is asked once more.
                Some(Err(error))
                    if !error.kind().is_transient()
                        && error.kind() != ErrorKind::Corrupt
                        && std::mem::replace(&mut may_insist, false) =>
                {
                    let Shared { world, policy, .. } = &*slot.shared;
                    world.sleep_until(world.now().plus(policy.pace)).await;
                }
                Some(Err(error)) => break error.to_string(),
                None => break "no answer within the time that a release may take".to_owned(),
            }
        };
        self.left_to_lapse(&why);
        None
    }

    /// The lease is nobody's any more, as far as this process goes.
    fn finish(self, freed: Option<Token>) -> Turn {
        if freed.is_some() {
            self.is_gone();
        }
        let Parts { write, hold, mut turn, .. } = self;
        drop(hold);
        if let Some(token) = freed {
            tracing::debug!(lock = &*write.slot().name, fence = write.record().fence.get(), "lease released");
            turn.notes.free = Some(Stored { record: write.into_record(), token });
        }
        turn
    }

    fn left_to_lapse(&self, error: &str) {
        let (slot, fence) = (self.write.slot(), self.write.record().fence);
        tracing::warn!(
            lock = &*slot.name,
            fence = fence.get(),
            error,
            "lease left to lapse: its release could not be written; others get in once it has expired"
        );
        let closing = &slot.shared.closing;
        // Outside of a shutdown that is the log's affair alone.
        if closing.has_begun() {
            let held_for = self.hold.as_ref().map_or(Duration::ZERO, |Booked(hold)| hold.held_for());
            closing.note(self.number, LeftToLapse { lock: slot.name.clone(), fence, held_for });
        } else {
            self.is_gone();
        }
    }

    /// Nothing of it keeps others waiting, as far as a shutdown is concerned. A hold is named only by one that has begun;
    /// a claim was noted when its caller went away.
    fn is_gone(&self) {
        let closing = &self.write.slot().shared.closing;
        if self.hold.is_none() || closing.has_begun() {
            closing.forget(self.number);
        }
    }
}

impl Slot {
    /// Ends `task` in the background. A store that answers in place needs none: its task ends in this very call, and
    /// so even where no runtime is left.
    pub(super) fn finish_in_background(&self, mut task: BoxFuture<()>) {
        let Shared { store, world, .. } = &*self.shared;
        if store.answers_in_place() && task.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready()
        {
            return;
        }
        if world.spawn(task).is_err() {
            tracing::warn!(
                lock = &*self.name,
                "lease left to lapse: its holder was dropped where no runtime is left to release it"
            );
        }
    }
}
