//! The local queue: waiters for one lock in one process stand in line, and only the head talks to the store.
//!
//! The turn is kept from the first look at the record until the lease has been given back. So the number of local
//! waiters never changes the request rate, and the next one is woken the moment the lease is free again.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::OwnedMutexGuard;
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::Shared;
use super::step::Watched;
use crate::backend::{BackendError, Key, Owner, Stored};
use crate::clock::Moment;

/// One lock, as this process knows it.
pub(crate) struct Slot {
    pub(super) shared: Arc<Shared>,
    pub(super) name: Arc<str>,
    pub(super) key: Key,
    turn: Arc<tokio::sync::Mutex<Notes>>,
    sight: Mutex<Sight>,
}

/// What the head of the queue passes on to the next.
#[derive(Default)]
pub(super) struct Notes {
    /// The free record that this process wrote itself: the next campaign swaps on it without a look.
    pub(super) free: Option<Stored>,
    /// Kept between attempts, so that even a process that only ever calls `try_run` takes over a dead lock.
    pub(super) watched: Option<Watched>,
    /// The lock was seen in other hands: not before this instant does a waiter look again.
    pub(super) next_look: Option<Moment>,
}

/// What those behind the head go by.
#[derive(Default)]
pub(super) struct Sight {
    /// What other process held it when last seen.
    pub(super) holder: Option<Owner>,
    /// Since when the store has been failing the head of the queue, and how.
    pub(super) trouble: Option<(Moment, BackendError)>,
}

impl Notes {
    /// Takes note of the version that was seen at `now`.
    pub(super) fn watch(&mut self, stored: Option<&Stored>, now: Moment) {
        let seen = stored.filter(|stored| !stored.record.is_released()).map(|stored| &stored.token);
        if seen != self.watched.as_ref().map(|watched| &watched.token) {
            self.watched = seen.map(|token| Watched { token: token.clone(), since: now });
        }
    }
}

impl Slot {
    pub(super) fn new(shared: Arc<Shared>, name: Arc<str>, key: Key) -> Slot {
        Slot { shared, name, key, turn: Arc::default(), sight: Mutex::default() }
    }

    /// The turn, if nobody in this process has it or waits for it.
    pub(super) fn try_turn(&self) -> Option<Turn> {
        let notes = self.turn.clone().try_lock_owned().ok()?;
        Some(Turn { notes, _busy: self.shared.busy.token() })
    }

    /// The turn, in order of arrival.
    pub(super) async fn turn(&self) -> Turn {
        let notes = self.turn.clone().lock_owned().await;
        Turn { notes, _busy: self.shared.busy.token() }
    }

    /// Who holds it, in this process or, when last seen, elsewhere.
    pub(super) fn holder(&self) -> Option<Owner> {
        self.shared.heartbeats.holder_of(self).or_else(|| self.sight().holder.clone())
    }

    pub(super) fn sight(&self) -> MutexGuard<'_, Sight> {
        self.sight.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The right to talk to the store about one lock. A shutdown waits for it to be dropped.
pub(crate) struct Turn {
    pub(super) notes: OwnedMutexGuard<Notes>,
    _busy: TaskTrackerToken,
}
