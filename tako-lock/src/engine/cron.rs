//! What a cron needs of the engine besides a lease: the marks of its ticks, the store's time, and the shutdown.

use tokio_util::sync::CancellationToken;
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::store_time::Reading;
use super::{Engine, Hold, Slot};
use crate::backend::{BackendError, ErrorKind, StoreTime};
use crate::error::LockError;

impl Hold {
    /// Work is started under the hold. Until then its release puts the mark back that stood in the record before.
    pub(crate) fn begin(&self) {
        self.state().is_begun = true;
    }

    /// The mark of the record, as this hold keeps it up.
    pub(crate) fn mark(&self) -> Option<StoreTime> {
        self.version().and_then(|(record, _)| record.mark)
    }

    /// Moves the mark on. The next heartbeat takes it to the store, or the release does.
    pub(crate) fn move_mark(&self, tick: StoreTime) {
        let mut state = self.state();
        state.is_begun = true;
        if let Some((record, _)) = &mut state.version {
            record.mark = record.mark.max(Some(tick));
        }
    }

    /// The store's time, as well as this process knows it.
    pub(crate) fn store_time(&self) -> Option<Reading> {
        let shared = &self.slot.shared;
        shared.store_clock.read(shared.world.now())
    }
}

impl Engine {
    /// Cancelled when the engine shuts down.
    pub(crate) fn closing(&self) -> &CancellationToken {
        &self.inner.shared.closing.token
    }

    /// A shutdown waits until this is dropped.
    pub(crate) fn busy(&self) -> TaskTrackerToken {
        self.inner.shared.busy.token()
    }
}

impl Slot {
    /// # Errors
    /// There is no runtime for the engine to work on.
    pub(crate) fn reachable(&self) -> Result<(), LockError> {
        if self.shared.world.is_reachable() { Ok(()) } else { Err(self.no_runtime()) }
    }

    /// What a caller is told that has given up on the store.
    pub(crate) fn unanswered(&self) -> LockError {
        let now = self.shared.world.now();
        let (since, error) = self.sight().trouble.clone().unwrap_or_else(|| {
            (now, BackendError::new(ErrorKind::UnknownOutcome, "the request has not been answered yet"))
        });
        LockError::from_backend(self.name.clone(), self.key.path().into(), now.since(since), error)
    }
}
