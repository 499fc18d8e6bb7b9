//! The in-process table: the lease of development and tests, and the reference for every other backend.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{BackendError, Key, LeaseBackend, Record, StoreTime, Stored, Swap, Token};
use crate::clock::TableClock;

/// An in-process compare-and-swap table with counter tokens.
///
/// Clones share one table: two engines over clones of it are two instances of an app, as far as locks go.
///
/// # Examples
/// ```
/// use tako::backend::MemoryLease;
/// use tako::Engine;
///
/// # fn main() -> Result<(), tako::ConfigError> {
/// let table = MemoryLease::new();
/// let web_1 = Engine::builder(table.clone()).build()?;
/// let web_2 = Engine::builder(table).build()?;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct MemoryLease {
    table: Arc<Mutex<Table>>,
    clock: TableClock,
}

#[derive(Default)]
struct Table {
    records: BTreeMap<Arc<str>, Stored>,
    // One counter for the whole table and never turned back, so that a record made anew after a removal still
    // gets a token that no earlier version had.
    last_token: u64,
}

impl MemoryLease {
    /// An empty table.
    pub fn new() -> MemoryLease {
        MemoryLease { table: Arc::default(), clock: TableClock::new() }
    }

    /// Removes the record at `key`, as an operator would to break a lock by force. Its holder, if there is one,
    /// loses the lease at its next heartbeat. Tells whether there was a record.
    ///
    /// The fence goes with it. The next record starts from the store's time, as well as its maker knows that, so one that
    /// was removed within seconds of its making may be followed by a lower fence. Marking a record free instead
    /// (`expires` = [`StoreTime::RELEASED`]) breaks the lock as well, and keeps the fence.
    pub fn remove(&self, key: &Key) -> bool {
        self.table().records.remove(key.path()).is_some()
    }

    /// The three verbs without a future: a table in memory has nothing to wait for.
    pub(crate) fn load_now(&self, key: &Key) -> Option<Stored> {
        self.table().records.get(key.path()).cloned()
    }

    pub(crate) fn swap_now(&self, key: &Key, expected: Option<&Token>, record: &Record) -> Swap {
        let mut table = self.table();
        // Read under the lock, so that the times of two writes stand in the order of the writes.
        let at = self.clock.now();
        let token = Token::from(table.last_token + 1);
        match (table.records.get_mut(key.path()), expected) {
            (Some(stored), Some(expected)) if stored.token == *expected => {
                stored.record.clone_from(record);
                stored.token = token.clone();
            }
            (None, None) => {
                let stored = Stored { record: record.clone(), token: token.clone() };
                table.records.insert(key.path().into(), stored);
            }
            _ => return Swap::Refused,
        }
        table.last_token += 1;
        Swap::Applied { token, at: Some(at) }
    }

    pub(crate) fn time(&self) -> StoreTime {
        self.clock.now()
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        // Nothing panics under this lock, and a table is whole after every statement.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LeaseBackend for MemoryLease {
    async fn load(&self, key: &Key) -> Result<Option<Stored>, BackendError> {
        Ok(self.load_now(key))
    }

    async fn swap(&self, key: &Key, expected: Option<&Token>, record: &Record) -> Result<Swap, BackendError> {
        Ok(self.swap_now(key, expected, record))
    }

    async fn now(&self) -> Result<StoreTime, BackendError> {
        Ok(self.time())
    }
}

impl Default for MemoryLease {
    fn default() -> MemoryLease {
        MemoryLease::new()
    }
}

impl fmt::Debug for MemoryLease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryLease").field("records", &self.table().records.len()).finish_non_exhaustive()
    }
}
