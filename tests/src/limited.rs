//! A store that limits the rate of writes, as Google Cloud Storage does.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tako::backend::{
    BackendError, ErrorKind, Key, LeaseBackend, MemoryLease, Record, StoreTime, Stored, Swap, Token,
};
use tokio::time::Instant;

/// One mutation per second and key, refused ones and readings of the clock included; the rest is throttled.
#[derive(Debug, Default)]
pub struct Limited {
    table: MemoryLease,
    last: Mutex<BTreeMap<String, Instant>>,
}

impl Limited {
    fn admit(&self, path: &str) -> Result<(), BackendError> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        match last.get(path) {
            Some(before) if now < *before + Duration::from_secs(1) => {
                Err(BackendError::new(ErrorKind::Throttled, format!("too many writes to {path}")))
            }
            _ => {
                last.insert(path.into(), now);
                Ok(())
            }
        }
    }
}

impl LeaseBackend for Limited {
    async fn load(&self, key: &Key) -> Result<Option<Stored>, BackendError> {
        self.table.load(key).await
    }

    async fn swap(&self, key: &Key, expected: Option<&Token>, record: &Record) -> Result<Swap, BackendError> {
        self.admit(key.path())?;
        self.table.swap(key, expected, record).await
    }

    async fn now(&self) -> Result<StoreTime, BackendError> {
        self.admit("the clock")?;
        self.table.now().await
    }
}
