//! The context that work runs under: it carries the engine, ends when the work should, and knows what it holds.

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use crate::backend::Fence;
use crate::engine::{Ending, Engine, Hold, Scope};
use crate::error::{CancelCause, ConfigError, LockError};
use crate::world::{Ambient, World};

/// Carries the engine, a chance to be cancelled, and the lease that the work runs under.
///
/// The closure given to [`Lock::run`](crate::Lock::run) gets one of its own. It is cancelled when the lease is lost,
/// when the caller's context is, when the engine shuts down, and when the work has ended. Cancellation is
/// cooperative: work that must not act without the lease asks [`check`](Ctx::check) before each act.
///
/// Cheap to clone; clones are one context.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use tako::{Ctx, Engine};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let ctx = Engine::memory().ctx().with_timeout(Duration::from_millis(5));
/// assert!(ctx.check().is_ok());
/// ctx.cancelled().await;
/// assert!(ctx.check().is_err());
/// # }
/// ```
#[derive(Clone)]
pub struct Ctx {
    /// `None`: the program's own, found when it is needed.
    engine: Option<Engine>,
    scope: Scope,
}

impl Ctx {
    /// A context with no limit, over the program's engine: the installed one, or the one that the environment tells.
    pub fn background() -> Ctx {
        Ctx { engine: None, scope: Scope::root() }
    }

    /// A context that ends with this one, and can be cancelled by itself.
    #[must_use]
    pub fn child(&self) -> Ctx {
        Ctx { engine: self.engine.clone(), scope: self.scope.child() }
    }

    /// A child that ends when `limit` has passed, at the latest.
    #[must_use]
    pub fn with_timeout(&self, limit: Duration) -> Ctx {
        let world: Arc<dyn World> = match self.engine() {
            Ok(engine) => engine.world().clone(),
            // No lock can be taken under it, and the error says why; the limit is kept all the same.
            Err(_) => Arc::new(Ambient::new()),
        };
        Ctx { engine: self.engine.clone(), scope: self.scope.with_timeout(world, limit) }
    }

    /// Ends this context and its children. It does not end the one that it was made from.
    pub fn cancel(&self) {
        self.scope.token().cancel();
    }

    /// Waits until the context has ended.
    ///
    /// # Cancel safety
    /// It leaves nothing behind.
    pub async fn cancelled(&self) {
        self.scope.ended().await;
    }

    /// Whether the context has ended. The clock is looked at: a process that was stopped or suspended past its
    /// deadline sees so on its first look, whatever its heartbeats had time to do.
    pub fn is_cancelled(&self) -> bool {
        self.scope.ending().is_some()
    }

    /// The gate before an act that must not happen without the lease.
    ///
    /// What it promises: at the moment of the call the lease is held. It cannot promise the moment after; a stall
    /// between the look and the act of less than 4 s is covered, since nobody takes a record over sooner than that
    /// after its holder's deadline. Beyond, hand [`fence`](Ctx::fence) to whatever the act changes.
    ///
    /// # Errors
    /// [`LockError::Lost`] when a lease that the context descends from was lost; [`LockError::Cancelled`] when it
    /// ended otherwise.
    pub fn check(&self) -> Result<(), LockError> {
        self.scope.ending().map_or(Ok(()), |ending| Err(ending.into()))
    }

    /// Why the context has ended; `None` while it has not.
    pub fn cause(&self) -> Option<CancelCause> {
        self.scope.ending().map(|ending| match ending {
            Ending::Lost(_) => CancelCause::Lost,
            Ending::Cancelled { cause, .. } => cause,
        })
    }

    /// The number of the innermost hold; `None` outside of one, and once it is lost or given back.
    pub fn fence(&self) -> Option<Fence> {
        self.scope.fence()
    }

    /// Runs `work` until the context ends; `None` when that came first, and then `work` is dropped where it stood.
    ///
    /// # Cancel safety
    /// As `work`'s.
    ///
    /// # Examples
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let ctx = tako::Engine::memory().ctx();
    /// assert_eq!(ctx.until_cancelled(async { 7 }).await, Some(7));
    /// ctx.cancel();
    /// assert_eq!(ctx.until_cancelled(std::future::pending::<()>()).await, None);
    /// # }
    /// ```
    pub async fn until_cancelled<F: Future>(&self, work: F) -> Option<F::Output> {
        self.scope.until_ended(work).await
    }

    pub(crate) fn engine(&self) -> Result<&Engine, ConfigError> {
        match &self.engine {
            Some(engine) => Ok(engine),
            None => Engine::of_program(),
        }
    }

    pub(crate) fn scope(&self) -> &Scope {
        &self.scope
    }

    /// The context of code that runs under `hold`.
    pub(crate) fn held(&self, hold: &Arc<Hold>) -> Ctx {
        Ctx { engine: self.engine.clone(), scope: self.scope.held(hold) }
    }
}

impl Engine {
    /// A context with no limit, over this engine.
    pub fn ctx(&self) -> Ctx {
        Ctx { engine: Some(self.clone()), scope: Scope::root() }
    }
}

impl fmt::Debug for Ctx {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ctx")
            .field("fence", &self.fence())
            .field("cause", &self.cause())
            .finish_non_exhaustive()
    }
}
