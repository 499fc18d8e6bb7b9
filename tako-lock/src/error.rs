//! What a caller is told. Each message names the lock, what happened, since when, and what to do; the deeper cause
//! is `source()` and never repeated in the text.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::backend::{BackendError, ErrorKind, Fence, Owner};

pub use crate::config::ConfigError;

/// Why work under a lock did not run, or cannot be counted on.
///
/// Give your own error type a variant for it, and `?` works everywhere:
/// ```
/// #[derive(Debug, thiserror::Error)]
/// enum ImportError {
///     #[error(transparent)]
///     Lock(#[from] tako::LockError),
/// }
/// ```
/// The module [`tako::errors`](crate::errors) explains each at length.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// The lease ended while the work was running.
    #[error(transparent)]
    Lost(#[from] Lost),
    /// The context ended: while waiting for the lock, or, from [`Ctx::check`](crate::Ctx::check), during the work.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// The context already holds this very lock, and would wait for itself.
    #[error(
        "lock \"{lock}\" is already held by the context that asks for it, and locks are not reentrant: `run` would \
         wait for itself. Pass the context on instead of taking the lock again, or use `try_run`, which answers `None`"
    )]
    Reentrant {
        /// The lock's name.
        lock: Arc<str>,
    },
    /// The engine is shutting down and hands out no more leases.
    #[error(
        "lock \"{lock}\" was not taken: its engine has been shutting down for {}. Stop asking, or ask another instance",
        Span(*since)
    )]
    ShuttingDown {
        /// The lock's name.
        lock: Arc<str>,
        /// How long ago the shutdown began.
        since: Duration,
    },
    /// The store did not answer, after one retry. Only `try_run` gives up so; `run` keeps trying.
    #[error(
        "lock \"{lock}\": its store has not given an answer for {}, so nobody can tell whether the lock is free. \
         Try again later, or use `run`, which waits for the store",
        Span(*since)
    )]
    Unavailable {
        /// The lock's name.
        lock: Arc<str>,
        /// Time since the first failure of this attempt.
        since: Duration,
        /// What the store said last.
        source: BackendError,
    },
    /// The store knows us and says no.
    #[error(
        "lock \"{lock}\": the store refuses access to `{path}`. Grant this program the right to read and write it"
    )]
    Denied {
        /// The lock's name.
        lock: Arc<str>,
        /// The record's place in the store.
        path: Arc<str>,
        /// What the store said.
        source: BackendError,
    },
    /// The store cannot host leases as it is set up.
    #[error(
        "lock \"{lock}\": the store cannot host leases as it is set up (record `{path}`). Mend its settings, then retry"
    )]
    Misconfigured {
        /// The lock's name.
        lock: Arc<str>,
        /// The record's place in the store.
        path: Arc<str>,
        /// What the store said.
        source: BackendError,
    },
    /// What is stored in the record's place is not this lock's record. It is never taken for free, never overwritten.
    #[error(
        "lock \"{lock}\": what is stored at `{path}` is not this lock's record, so it was left as it is. \
         Find out what wrote it; once no instance uses the lock, remove it"
    )]
    Corrupt {
        /// The lock's name.
        lock: Arc<str>,
        /// The record's place in the store.
        path: Arc<str>,
        /// What is wrong with it.
        source: BackendError,
    },
    /// There is no engine to ask: the settings of this program do not add up.
    #[error(transparent)]
    Config(#[from] ConfigError),
}

impl LockError {
    /// The error for a request that will not succeed by being sent again, or that one attempt gave up on.
    pub(crate) fn from_backend(
        lock: Arc<str>,
        path: Arc<str>,
        since: Duration,
        source: BackendError,
    ) -> LockError {
        match source.kind() {
            ErrorKind::Denied => LockError::Denied { lock, path, source },
            ErrorKind::Misconfigured => LockError::Misconfigured { lock, path, source },
            ErrorKind::Corrupt => LockError::Corrupt { lock, path, source },
            ErrorKind::Throttled | ErrorKind::Unavailable | ErrorKind::UnknownOutcome => {
                LockError::Unavailable { lock, since, source }
            }
        }
    }
}

/// The lease ended while the work was running: another instance may have started the same work.
///
/// The context of the work was cancelled at that moment. The text is the same whatever the cause; the cause is
/// [`source()`](Error::source), and [`cause()`](Lost::cause) in its own type.
#[derive(Debug, Clone)]
pub struct Lost {
    inner: Arc<LostInner>,
}

#[derive(Debug)]
struct LostInner {
    lock: Arc<str>,
    fence: Fence,
    held_for: Duration,
    cause: LossCause,
}

impl Lost {
    pub(crate) fn new(lock: Arc<str>, fence: Fence, held_for: Duration, cause: LossCause) -> Lost {
        Lost { inner: Arc::new(LostInner { lock, fence, held_for, cause }) }
    }

    /// The lock's name.
    pub fn lock(&self) -> &str {
        &self.inner.lock
    }

    /// The fence that the lost hold had.
    pub fn fence(&self) -> Fence {
        self.inner.fence
    }

    /// How long it was held before the loss was noticed.
    pub fn held_for(&self) -> Duration {
        self.inner.held_for
    }

    /// How it came to an end.
    pub fn cause(&self) -> &LossCause {
        &self.inner.cause
    }
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The specification's sentence, to the letter.
        write!(
            f,
            "lease \"{}\" was lost while held (ttl expired or forcibly taken) \u{2014} work after the loss point may not have run",
            self.inner.lock
        )
    }
}

impl Error for Lost {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.inner.cause)
    }
}

/// How a lease came to an end under its holder.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum LossCause {
    /// Another holder stands in the record: it was taken over after an expiry, or by force.
    #[error("the record now belongs to {by}, with fence {fence}")]
    Taken {
        /// Who has it.
        by: Owner,
        /// That holder's fence.
        fence: Fence,
    },
    /// The record is gone, or was marked free by somebody else: an operator broke the lock by force.
    #[error(
        "the record was removed or marked free by somebody else, as an operator does to break a lock by force"
    )]
    Vanished,
    /// No heartbeat was confirmed before the deadline.
    #[error("no heartbeat was confirmed in time{}", if last_error.is_some() { ": the store was failing" } else { ": the process was held up" })]
    Expired {
        /// What the store said last, when a heartbeat failed; `None` when none was even sent in time.
        #[source]
        last_error: Option<BackendError>,
    },
}

/// The context ended before, or while, the work ran.
#[derive(Debug, Clone)]
pub struct Cancelled {
    cause: CancelCause,
    lock: Option<Arc<str>>,
    wait: Option<Wait>,
}

#[derive(Debug, Clone)]
struct Wait {
    waited: Duration,
    held_by: Option<Owner>,
}

impl Cancelled {
    /// The work itself is told, under the innermost `lock` that it holds.
    pub(crate) fn at_work(cause: CancelCause, lock: Option<Arc<str>>) -> Cancelled {
        Cancelled { cause, lock, wait: None }
    }

    /// A caller is told that was waiting for `lock`.
    pub(crate) fn waiting(
        cause: CancelCause,
        lock: Arc<str>,
        waited: Duration,
        held_by: Option<Owner>,
    ) -> Cancelled {
        Cancelled { cause, lock: Some(lock), wait: Some(Wait { waited, held_by }) }
    }

    /// Why the context ended.
    pub fn cause(&self) -> CancelCause {
        self.cause
    }

    /// The lock that was waited for, or that the work was running under; `None` outside of any.
    pub fn lock(&self) -> Option<&str> {
        self.lock.as_deref()
    }

    /// How long it was waited for; `None` when the work itself was told, by [`Ctx::check`](crate::Ctx::check).
    pub fn waited(&self) -> Option<Duration> {
        self.wait.as_ref().map(|wait| wait.waited)
    }

    /// Who held it when last seen.
    pub fn held_by(&self) -> Option<&Owner> {
        self.wait.as_ref()?.held_by.as_ref()
    }
}

impl fmt::Display for Cancelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Cancelled { cause, lock, wait } = self;
        if let Some(lock) = lock {
            write!(f, "lock \"{lock}\"")?;
        }
        let Some(Wait { waited, held_by }) = wait else {
            let joint = if lock.is_some() { ": " } else { "" };
            return write!(f, "{joint}{cause}. Stop the work and return");
        };
        write!(f, " was not taken: {cause}, after waiting for {}", Span(*waited))?;
        if let Some(owner) = held_by {
            write!(f, ", held by {owner} when last seen")?;
        }
        f.write_str(". Nothing has run; wait longer, or use `try_run` to collapse into the work in progress")
    }
}

impl Error for Cancelled {}

/// Why a context ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CancelCause {
    /// Somebody called [`cancel`](crate::Ctx::cancel) on it or on one that it descends from.
    Cancelled,
    /// The time limit of [`with_timeout`](crate::Ctx::with_timeout) has passed.
    TimedOut,
    /// The lease that it stands for, or one above it, was lost.
    Lost,
    /// The engine is shutting down; the lease is kept up until the work has ended.
    Shutdown,
    /// The work that it was made for has ended and the lease has been given back.
    Released,
}

impl fmt::Display for CancelCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CancelCause::Cancelled => "the context was cancelled",
            CancelCause::TimedOut => "the context's time limit has passed",
            CancelCause::Lost => "the lease was lost",
            CancelCause::Shutdown => "the engine is shutting down",
            CancelCause::Released => "the lease it stood for has been given back",
        })
    }
}

/// A span of time as people read it: at most two units, nothing below a millisecond.
pub(crate) struct Span(pub(crate) Duration);

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fine = self.0 < Duration::from_secs(10);
        let rounded = if fine {
            Duration::from_millis(u64::try_from(self.0.as_millis()).unwrap_or(u64::MAX))
        } else {
            Duration::from_secs(self.0.as_secs())
        };
        humantime::format_duration(rounded).fmt(f)
    }
}

#[cfg(test)]
#[path = "error_tests.rs"]
mod tests;
