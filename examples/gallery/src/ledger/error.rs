//! What the ledger says when it does not do as asked.

use tokio::task::JoinError;

/// Why the ledger did not do as asked.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// A later hold of the lock has written: whoever asks has lost the lock, whether it knows or not.
    #[error(
        "the ledger refuses a write under fence {fence} of lock \"{lock}\": fence {highest} has written since, so \
         this run lost the lock and another has begun"
    )]
    StaleFence {
        /// The lock that the run held.
        lock: &'static str,
        /// The fence that came with the write.
        fence: u64,
        /// The highest one seen.
        highest: u64,
    },
    /// No such run.
    #[error("the ledger has no run {0}")]
    NoSuchRun(u64),
    /// An entry is not what this program writes.
    #[error("an entry of the ledger cannot be read or written as JSON")]
    Entry(#[from] serde_json::Error),
    /// The database failed.
    #[error("the ledger's database failed")]
    Database(#[source] Box<redb::Error>),
    /// The thread that did the work died.
    #[error("the thread that worked on the ledger died")]
    Died(#[from] JoinError),
}

macro_rules! database_errors {
    ($($error:ty),*) => { $(
        impl From<$error> for LedgerError {
            fn from(error: $error) -> LedgerError {
                LedgerError::Database(Box::new(error.into()))
            }
        }
    )* };
}

database_errors!(
    redb::CommitError,
    redb::DatabaseError,
    redb::SetDurabilityError,
    redb::StorageError,
    redb::TransactionError,
    redb::TableError
);
