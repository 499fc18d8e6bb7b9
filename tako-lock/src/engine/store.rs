//! The backend with its type erased, and the cap on every request.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;

use tokio::sync::oneshot;

use crate::backend::{
    BackendError, ErrorKind, Key, LeaseBackend, MemoryLease, Record, StoreTime, Stored, Swap, Token,
};
use crate::policy::Policy;
use crate::race::{Race, race};
use crate::world::{BoxFuture, World};

pub(super) type Answer<T> = Result<T, BackendError>;

/// An answer that is here already, or a request under way. Owned, so that it outlives the caller that sent it.
pub(super) enum Reply<T> {
    Now(Answer<T>),
    Later(BoxFuture<Answer<T>>),
}

impl<T> Reply<T> {
    pub(super) async fn answer(self) -> Answer<T> {
        match self {
            Reply::Now(answer) => answer,
            Reply::Later(request) => request.await,
        }
    }
}

/// The store as the engine calls it.
pub(super) trait Store: Send + Sync {
    fn load(&self, key: &Key) -> Reply<Option<Stored>>;
    fn swap(&self, key: &Key, expected: Option<&Token>, record: &Record) -> Reply<Swap>;
    fn now(&self) -> Reply<StoreTime>;
    /// Whether every reply is there as soon as it is asked for.
    fn answers_in_place(&self) -> bool;
}

/// The table in memory answers in place: no future on the heap, no task.
impl Store for MemoryLease {
    fn load(&self, key: &Key) -> Reply<Option<Stored>> {
        Reply::Now(Ok(self.load_now(key)))
    }

    fn swap(&self, key: &Key, expected: Option<&Token>, record: &Record) -> Reply<Swap> {
        Reply::Now(Ok(self.swap_now(key, expected, record)))
    }

    fn now(&self) -> Reply<StoreTime> {
        Reply::Now(Ok(self.time()))
    }

    fn answers_in_place(&self) -> bool {
        true
    }
}

/// Any other backend: each request is capped, and runs where the world wants requests to run.
pub(super) struct Remote<B> {
    pub(super) backend: Arc<B>,
    pub(super) world: Arc<dyn World>,
    pub(super) policy: Policy,
}

impl<B> Remote<B> {
    fn request<T: Send + 'static>(
        &self,
        request: impl Future<Output = Answer<T>> + Send + 'static,
    ) -> Reply<T> {
        let deadline = self.world.now().plus(self.policy.attempt);
        let timer = self.world.sleep_until(deadline);
        let cap = self.policy.attempt;
        let capped = async move {
            match race(pin!(request), pin!(timer)).await {
                Race::First(answer) => answer,
                // It may have been applied, and may still be: only the store can tell.
                Race::Second(()) => Err(BackendError::new(
                    ErrorKind::UnknownOutcome,
                    format!("no answer within {}", humantime::format_duration(cap)),
                )),
            }
        };
        if !self.world.detaches_requests() {
            return Reply::Later(Box::pin(capped));
        }
        let (answer, receiver) = oneshot::channel();
        let task = Box::pin(async move {
            // The caller may have gone; the request runs to its end all the same.
            let _ = answer.send(capped.await);
        });
        if self.world.spawn(task).is_err() {
            let stopped =
                BackendError::new(ErrorKind::Unavailable, "the engine's thread has ended: nothing was sent");
            return Reply::Now(Err(stopped));
        }
        Reply::Later(Box::pin(async move { receiver.await.unwrap_or_else(|_| Err(unanswered())) }))
    }
}

impl<B: LeaseBackend> Store for Remote<B> {
    fn load(&self, key: &Key) -> Reply<Option<Stored>> {
        let (backend, key) = (self.backend.clone(), key.clone());
        self.request(async move { backend.load(&key).await })
    }

    fn swap(&self, key: &Key, expected: Option<&Token>, record: &Record) -> Reply<Swap> {
        let (backend, key, expected, record) =
            (self.backend.clone(), key.clone(), expected.cloned(), record.clone());
        self.request(async move { backend.swap(&key, expected.as_ref(), &record).await })
    }

    fn now(&self) -> Reply<StoreTime> {
        let backend = self.backend.clone();
        self.request(async move { backend.now().await })
    }

    fn answers_in_place(&self) -> bool {
        false
    }
}

fn unanswered() -> BackendError {
    BackendError::new(ErrorKind::UnknownOutcome, "the request ended without an answer")
}
