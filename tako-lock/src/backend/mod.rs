//! Where the record lives: the contract between the engine and a store.
//!
//! A backend is three verbs, one round trip each. It has no clock of its own, no retry, no cache and no memory of
//! what it last read: whatever a later call needs travels through the arguments. Campaign, heartbeat, loss and
//! release all stand above it, so that every store behaves the same.
//!
//! To write one, implement [`LeaseBackend`] with plain `async fn`s, run `tako::conformance` over it, and
//! hand it to [`Engine::builder`](crate::Engine::builder). [`MemoryLease`] reads as the reference.

#[cfg(feature = "gcs")]
pub(crate) mod gcs;
mod memory;

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::sync::Arc;

#[cfg(feature = "gcs")]
pub use self::gcs::GcsLease;
pub use self::memory::MemoryLease;
pub use crate::record::{Extra, Fence, Owner, Record, StoreTime};

/// A place that keeps lease records and changes one only by compare-and-swap.
///
/// # Contract
/// - **One record a key**, and keys do not influence each other. Paths have up to 272 bytes.
/// - **`load` gives what `swap` was given**: every field, those that this version does not know and a `lock` that is
///   not the key's included. Whether a record is foreign, free or expired is the engine's to judge, never a backend's.
/// - **`load` reads what was last applied**, with its token: once a swap has answered, every later load sees it,
///   through any instance.
/// - **`swap` is atomic**: of any number of swaps that name the same expected token, at most one is applied, and a
///   refused one changes nothing. A swap on the stored token is applied, unless a rival's was.
/// - **Every applied swap makes a fresh token**, unequal to each that the key ever had: also when the bytes are those of
///   an earlier record, and when the record was removed and made anew. Tokens are for equality only; they need not grow.
/// - **A dropped write lands whole or not at all**, perhaps later. Once another swap that names the same token has
///   answered, it can no longer land. A dropped verb blocks no later one.
/// - **One clock for all instances**, at the rate of a host's: `now` and the `at` of a swap are read from it, and
///   disagree by less than a second.
/// - **Errors tell what to do** ([`ErrorKind`]): a write that may have been applied is never reported as one that
///   was not.
pub trait LeaseBackend: Send + Sync + 'static {
    /// Reads the record at `key`, with the token that a later [`swap`](LeaseBackend::swap) must name; `None` when
    /// there is none.
    ///
    /// # Errors
    /// A body that is not a record is [`ErrorKind::Corrupt`], never `None`.
    fn load(&self, key: &Key) -> impl Future<Output = Result<Option<Stored>, BackendError>> + Send;

    /// Writes `record` at `key`, only while the stored token is `expected` (`None`: only while nothing is stored).
    ///
    /// # Errors
    /// A refusal is no error: it is [`Swap::Refused`]. After [`ErrorKind::Unavailable`] and
    /// [`ErrorKind::UnknownOutcome`] the write may have been applied; after the others it was not. A body in the
    /// record's place that is not a record is never written over.
    fn swap(
        &self,
        key: &Key,
        expected: Option<&Token>,
        record: &Record,
    ) -> impl Future<Output = Result<Swap, BackendError>> + Send;

    /// Tells the store's own time. The engine asks rarely: once before its first campaign, and again before it
    /// takes over a record on an old estimate.
    ///
    /// # Errors
    /// As for any request. While this fails, the engine judges a dead holder by watching its record instead.
    fn now(&self) -> impl Future<Output = Result<StoreTime, BackendError>> + Send;
}

impl<B: LeaseBackend> LeaseBackend for Arc<B> {
    async fn load(&self, key: &Key) -> Result<Option<Stored>, BackendError> {
        B::load(self, key).await
    }

    async fn swap(&self, key: &Key, expected: Option<&Token>, record: &Record) -> Result<Swap, BackendError> {
        B::swap(self, key, expected, record).await
    }

    async fn now(&self) -> Result<StoreTime, BackendError> {
        B::now(self).await
    }
}

/// Which record: the place where a store keeps it, and the identity that it must bear.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Key {
    path: Arc<str>,
    lock: Arc<str>,
}

impl Key {
    /// The key of a record at `path` that bears the identity `lock`.
    pub fn new(path: impl Into<Arc<str>>, lock: impl Into<Arc<str>>) -> Key {
        Key { path: path.into(), lock: lock.into() }
    }

    /// Where the store keeps the record, such as `leases/run-gallery-prod-reindex`. No two locks share one.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The full identity, such as `gallery/prod/reindex`.
    pub fn lock(&self) -> &Arc<str> {
        &self.lock
    }
}

/// The store's version of one record, for equality only. (Google Cloud Storage: the object's generation.)
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Token(Repr);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Repr {
    Number(u64),
    Text(Arc<str>),
}

impl Token {
    /// The number that this token was made from, when it was made from one.
    pub fn as_number(&self) -> Option<u64> {
        match self.0 {
            Repr::Number(number) => Some(number),
            Repr::Text(_) => None,
        }
    }
}

impl From<u64> for Token {
    fn from(number: u64) -> Token {
        Token(Repr::Number(number))
    }
}

impl From<&str> for Token {
    fn from(text: &str) -> Token {
        Token(Repr::Text(text.into()))
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Number(number) => number.fmt(f),
            Repr::Text(text) => text.fmt(f),
        }
    }
}

/// A record as it was read, with the token that stands for this very version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// The record.
    pub record: Record,
    /// Its version.
    pub token: Token,
}

/// What became of a [`swap`](LeaseBackend::swap). A refusal is an answer, not an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Swap {
    /// The record is written.
    Applied {
        /// The new version.
        token: Token,
        /// When it was written, by the store's clock, where the store tells it.
        at: Option<StoreTime>,
    },
    /// The stored token was not the expected one. Nothing has changed.
    Refused,
}

/// What went wrong with one request, as what to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Too many requests: not applied. Wait, then send it again.
    Throttled,
    /// The store is out of reach or failing: not applied, or not known to be. Send the same again.
    Unavailable,
    /// The request left and no answer came: it may have been applied, and may still be. Send the same again.
    UnknownOutcome,
    /// The store knows us and says no. Sending it again will not help.
    Denied,
    /// The store cannot host leases as it is set up: no such bucket, a retention policy, …
    Misconfigured,
    /// What is stored is not a lease record.
    Corrupt,
}

impl ErrorKind {
    /// Whether sending the same request again may succeed.
    pub fn is_transient(self) -> bool {
        matches!(self, ErrorKind::Throttled | ErrorKind::Unavailable | ErrorKind::UnknownOutcome)
    }
}

/// One request to the store failed.
#[derive(Debug, Clone)]
pub struct BackendError {
    kind: ErrorKind,
    message: Arc<str>,
    source: Option<Arc<dyn Error + Send + Sync>>,
}

impl BackendError {
    /// An error of this kind. `message` says what was asked and what came back, lower case, no full stop.
    pub fn new(kind: ErrorKind, message: impl Into<Arc<str>>) -> BackendError {
        BackendError { kind, message: message.into(), source: None }
    }

    /// The same error, caused by `source`. Its text must not stand in the message as well.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> BackendError {
        self.source = Some(Arc::from(source.into()));
        self
    }

    /// What to do next.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }
}

impl fmt::Display for BackendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.message.fmt(f)
    }
}

impl Error for BackendError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn Error + 'static))
    }
}
