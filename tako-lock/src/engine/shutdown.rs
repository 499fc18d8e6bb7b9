//! Shutdown: drains under the lease. New callers are refused and waiters return at once; holders are told to stop
//! while their heartbeats go on, and each lease is given back only when its code has ended.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::Shared;
use super::queue::Slot;
use crate::backend::Fence;
use crate::clock::Moment;
use crate::error::{ConfigError, LockError};
use crate::race::{Race, race};

/// Whether, and since when, an engine is shutting down.
#[derive(Default)]
pub(super) struct Closing {
    pub(super) token: CancellationToken,
    since: OnceLock<Moment>,
    /// What may stand in a record although nobody keeps it up, by the number of its hold or claim.
    left: Mutex<BTreeMap<u64, LeftToLapse>>,
}

impl Closing {
    pub(super) fn has_begun(&self) -> bool {
        self.since.get().is_some()
    }

    /// Takes note of a lease that may be left to lapse.
    pub(super) fn note(&self, number: u64, left: LeftToLapse) {
        self.left().insert(number, left);
    }

    /// It has been given back after all, or was never had.
    pub(super) fn forget(&self, number: u64) {
        self.left().remove(&number);
    }

    fn left(&self) -> MutexGuard<'_, BTreeMap<u64, LeftToLapse>> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a shutdown came to.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "what was left to lapse keeps others waiting until it has expired"]
pub struct Shutdown {
    left: Vec<LeftToLapse>,
}

impl Shutdown {
    /// The leases that were not given back when the grace was over: their code had not ended, or their release could
    /// not be written. They are not kept up any more. What ends in time after all is still given back; the others lapse
    /// at their expiry, so that nobody else starts while that code may still act.
    pub fn left_to_lapse(&self) -> &[LeftToLapse] {
        &self.left
    }

    /// Whether everything that was held when it began has been given back.
    pub fn is_clean(&self) -> bool {
        self.left.is_empty()
    }
}

/// A lease that was not given back in time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftToLapse {
    pub(super) lock: Arc<str>,
    pub(super) fence: Fence,
    pub(super) held_for: Duration,
}

impl LeftToLapse {
    /// The lock's name.
    pub fn lock(&self) -> &str {
        &self.lock
    }

    /// The hold's fence.
    pub fn fence(&self) -> Fence {
        self.fence
    }

    /// How long it had been held when the grace was over.
    pub fn held_for(&self) -> Duration {
        self.held_for
    }
}

impl Slot {
    /// # Errors
    /// The engine hands out no more leases.
    pub(super) fn admit(&self) -> Result<(), LockError> {
        if self.shared.closing.has_begun() { Err(self.shutting_down()) } else { Ok(()) }
    }

    pub(super) fn no_runtime(&self) -> LockError {
        let name = &self.name;
        let why = format!(
            "lock \"{name}\" was asked for outside of a tokio runtime, and its engine runs on the caller's"
        );
        ConfigError::one(why).into()
    }

    pub(super) fn shutting_down(&self) -> LockError {
        let now = self.shared.world.now();
        let since = now.since(*self.shared.closing.since.get().unwrap_or(&now));
        LockError::ShuttingDown { lock: self.name.clone(), since }
    }
}

impl Shared {
    pub(super) async fn shut_down(&self, grace: Duration) -> Shutdown {
        let now = self.world.now();
        if self.closing.since.set(now).is_ok() {
            tracing::info!(?grace, "lock engine shutting down: waiters return, holders are told to stop");
        }
        self.closing.token.cancel();
        for hold in self.heartbeats.holds() {
            hold.drain();
        }
        self.busy.close();
        let drained = race(pin!(self.busy.wait()), pin!(self.world.sleep_until(now.plus(grace)))).await;
        match drained {
            Race::First(()) => self.world.stop(),
            Race::Second(()) => {
                for hold in self.heartbeats.close() {
                    let (lock, fence, held_for) = (hold.slot.name.clone(), hold.fence, hold.held_for());
                    tracing::warn!(
                        lock = &*lock,
                        fence = fence.get(),
                        ?held_for,
                        "lease left to lapse: it had not been given back when the shutdown's grace was over"
                    );
                    self.closing.note(hold.number, LeftToLapse { lock, fence, held_for });
                }
            }
        }
        Shutdown { left: self.closing.left().values().cloned().collect() }
    }
}
