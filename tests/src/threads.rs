//! Each request on a thread of a pool, so that the suite's races meet in a backend that never waits.

use std::future::Future;
use std::sync::{Arc, LazyLock};

use tako::backend::{BackendError, ErrorKind, Key, LeaseBackend, Record, StoreTime, Stored, Swap, Token};
use tokio::runtime::{Builder, Runtime};

static POOL: LazyLock<Runtime> = LazyLock::new(|| {
    Builder::new_multi_thread().worker_threads(4).enable_all().build().expect("a runtime with threads")
});

/// `B` with each verb run as a task of a runtime with several threads. A dropped request runs on.
#[derive(Debug, Clone)]
pub struct OnThreads<B> {
    backend: Arc<B>,
}

impl<B: LeaseBackend> OnThreads<B> {
    /// The same backend.
    pub fn new(backend: B) -> OnThreads<B> {
        OnThreads { backend: Arc::new(backend) }
    }
}

async fn on_pool<T: Send + 'static>(
    request: impl Future<Output = Result<T, BackendError>> + Send + 'static,
) -> Result<T, BackendError> {
    let ended = POOL.spawn(request).await;
    ended.unwrap_or_else(|error| {
        Err(BackendError::new(ErrorKind::UnknownOutcome, "the request's task failed").with_source(error))
    })
}

impl<B: LeaseBackend> LeaseBackend for OnThreads<B> {
    async fn load(&self, key: &Key) -> Result<Option<Stored>, BackendError> {
        let (backend, key) = (self.backend.clone(), key.clone());
        on_pool(async move { backend.load(&key).await }).await
    }

    async fn swap(&self, key: &Key, expected: Option<&Token>, record: &Record) -> Result<Swap, BackendError> {
        let (backend, key) = (self.backend.clone(), key.clone());
        let (expected, record) = (expected.cloned(), record.clone());
        on_pool(async move { backend.swap(&key, expected.as_ref(), &record).await }).await
    }

    async fn now(&self) -> Result<StoreTime, BackendError> {
        let backend = self.backend.clone();
        on_pool(async move { backend.now().await }).await
    }
}
