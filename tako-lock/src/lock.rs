//! The static handle that users declare, and the list of all declarations.

use std::fmt;
use std::future::Future;
use std::pin::pin;

use crate::ctx::Ctx;
use crate::engine::{Attempt, Begun, Mode, Tenure};
use crate::error::LockError;
use crate::name::Subject;

/// A lock that is held across all instances of an app: a name, and nothing else.
///
/// Declared with [`lock!`](crate::prelude::lock) as a `static`. Two declarations of one name, anywhere in a program,
/// are the same lock. Locks are not reentrant.
///
/// # What it promises
/// Two holders never run at once while monotonic clocks agree in rate within 5 %, and while a holder acts within 4 s
/// of its last look at [`Ctx::check`]. Beyond that, a system that compares [`Ctx::fence`] with the highest it has
/// seen refuses the stale one. No machine's wall clock has a part in it.
///
/// # Examples
/// ```
/// use tako::prelude::*;
/// use tako::{Engine, LockError};
///
/// static REINDEX: Lock = lock!("reindex");
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), LockError> {
/// let ctx = Engine::memory().ctx();
/// REINDEX.run(&ctx, async |ctx| {
///     // Somebody else finds it held, and collapses into this run.
///     let other = REINDEX.try_run(&ctx, async |_| Ok::<_, LockError>(())).await?;
///     assert!(other.is_none());
///     Ok::<_, LockError>(())
/// })
/// .await
/// # }
/// ```
pub struct Lock {
    subject: Subject<'static>,
}

impl Lock {
    /// For the macros, by way of `private`, which has looked at the name.
    pub(crate) const fn new(name: &'static str) -> Lock {
        Lock { subject: Subject::Lock(name) }
    }

    /// The name that it was declared with: its identity. That of the [`deploy_lease`] is `deploy.lease`, which no lock
    /// can be declared with.
    pub const fn name(&self) -> &'static str {
        self.subject.name()
    }

    /// Waits until the lock is held, runs `work` holding it, and gives it back.
    ///
    /// Callers in one process are served in order of arrival. While the store is failing it keeps trying; limit the
    /// wait with [`Ctx::with_timeout`].
    ///
    /// # Errors
    /// `work`'s own error wins. Otherwise, as a [`LockError`]: `Lost` when the lease was lost while `work` ran, even
    /// though it succeeded; `Cancelled` when `ctx` ended before the lock was held; `Reentrant` when `ctx` holds it
    /// already; `ShuttingDown`; `Denied`, `Misconfigured` and `Corrupt` from the store; `Config` when there is no engine.
    /// In all of these but `Lost`, `work` was not started.
    ///
    /// # Cancel safety
    /// Dropping the future while it waits ends the candidacy; a claim that was on its way is settled in the background
    /// and given back if it won. Dropping it while `work` runs drops `work`, then gives the lease back in the background.
    ///
    /// # Panics
    /// Only when `work` does. The lease is given back, and the panic goes on unchanged.
    ///
    /// # Examples
    /// ```
    /// use tako::prelude::*;
    /// use tako::{Engine, LockError};
    ///
    /// static IMPORT: Lock = lock!("import");
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), LockError> {
    /// let ctx = Engine::memory().ctx();
    /// let rows = IMPORT.run(&ctx, async |ctx| {
    ///     ctx.check()?;
    ///     Ok::<_, LockError>(42)
    /// })
    /// .await?;
    /// assert_eq!(rows, 42);
    /// # Ok(()) }
    /// ```
    #[doc(alias = "Do")]
    #[doc(alias = "lock")]
    pub async fn run<T, E, F, Fut>(&self, ctx: &Ctx, work: F) -> Result<T, E>
    where
        F: FnOnce(Ctx) -> Fut,
        Fut: Future<Output = Result<T, E>>,
        E: From<LockError>,
    {
        loop {
            if let Some(tenure) = self.acquire(ctx, Mode::Wait).await? {
                return run_held(ctx, tenure, work).await;
            }
        }
    }

    /// Runs `work` only if the lock is free at once; `None` means that somebody else holds it, which is often the
    /// right answer and no error: the caller collapses into the run in progress.
    ///
    /// It makes one attempt. A store that fails is asked once more, and then reported.
    ///
    /// # Errors
    /// As [`run`](Lock::run), and `Unavailable` when the store does not say whether the lock is free. A context that
    /// holds the lock already gets `None`.
    ///
    /// # Cancel safety
    /// As [`run`](Lock::run).
    ///
    /// # Panics
    /// As [`run`](Lock::run).
    ///
    /// # Examples
    /// ```
    /// use tako::prelude::*;
    /// use tako::{Engine, LockError};
    ///
    /// static REINDEX: Lock = lock!("reindex");
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), LockError> {
    /// let ctx = Engine::memory().ctx();
    /// let ran = REINDEX.try_run(&ctx, async |_ctx| Ok::<_, LockError>("rebuilt")).await?;
    /// assert_eq!(ran, Some("rebuilt"));
    /// # Ok(()) }
    /// ```
    #[doc(alias = "TryDo")]
    #[doc(alias = "try_lock")]
    pub async fn try_run<T, E, F, Fut>(&self, ctx: &Ctx, work: F) -> Result<Option<T>, E>
    where
        F: FnOnce(Ctx) -> Fut,
        Fut: Future<Output = Result<T, E>>,
        E: From<LockError>,
    {
        match self.acquire(ctx, Mode::Try).await? {
            Some(tenure) => run_held(ctx, tenure, work).await.map(Some),
            None => Ok(None),
        }
    }

    async fn acquire(&self, ctx: &Ctx, mode: Mode) -> Result<Option<Tenure>, LockError> {
        let slot = ctx.engine()?.slot(self.subject);
        match slot.begin(ctx.scope(), mode)? {
            Begun::Held(tenure) => Ok(Some(tenure)),
            Begun::Busy(_) => Ok(None),
            // On the heap: what a campaign needs would make three quarters of the caller's future, and is dead while
            // the work runs.
            Begun::Campaign(visit, lead) => match Box::pin(visit.campaign(lead)).await? {
                Attempt::Won(tenure) => Ok(Some(tenure)),
                Attempt::Passed(_) => Ok(None),
            },
        }
    }
}

async fn run_held<T, E, F, Fut>(ctx: &Ctx, tenure: Tenure, work: F) -> Result<T, E>
where
    F: FnOnce(Ctx) -> Fut,
    Fut: Future<Output = Result<T, E>>,
    E: From<LockError>,
{
    let result = {
        let work = pin!(work(ctx.held(tenure.hold())));
        tenure.watch(work).await
    };
    match (result, tenure.finish().await) {
        // Work that succeeded may have done so after somebody else had started: its caller must know.
        (Ok(_), Err(lost)) => Err(LockError::from(lost).into()),
        (result, _) => result,
    }
}

impl fmt::Debug for Lock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Lock").field(&self.name()).finish()
    }
}

/// The deploy lease: one deployment of an app to an environment at a time.
///
/// It is a [`Lock`] at a place of its own, `leases/deploy-<app>-<env>`, which no declared lock can name. App and
/// environment are the engine's. Whoever finds it taken asks [`Engine::inspect`](crate::Engine::inspect) with
/// `deploy.lease` who has it, and [`Holder::since`](crate::Holder::since) since when.
///
/// # Examples
/// ```
/// use tako::{Engine, LockError};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), LockError> {
/// let engine = Engine::memory();
/// tako::deploy_lease()
///     .run(&engine.ctx(), async |ctx| {
///         // Another script, elsewhere:
///         let other = tako::deploy_lease().try_run(&engine.ctx(), async |_| Ok::<_, LockError>(())).await?;
///         assert_eq!(other, None);
///         let holder = engine.inspect("deploy.lease").await?.expect("this one");
///         assert_eq!(Some(holder.fence), ctx.fence());
///         Ok(())
///     })
///     .await
/// # }
/// ```
pub const fn deploy_lease() -> Lock {
    Lock { subject: Subject::Deploy }
}

/// One declaration of a lock or a cron, as [`declared`] lists it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[non_exhaustive]
pub struct Declaration {
    /// The name of the lock or the cron.
    pub name: &'static str,
    /// What has been declared.
    pub kind: Kind,
    /// The source file, as the compiler was told it.
    pub file: &'static str,
    /// The line in it.
    pub line: u32,
    /// The module.
    pub module: &'static str,
}

/// What a [`Declaration`] declares. A lock and a cron may have the same name, and have nothing to do with each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Kind {
    /// A lock, by `lock!` or `#[tako::lock]`.
    Lock,
    /// A cron, by `cron!`, which the feature `cron` adds.
    Cron {
        /// The schedule, as it was declared.
        schedule: &'static str,
        /// The time zone, of the IANA database.
        zone: &'static str,
    },
}

#[cfg(feature = "cron")]
impl Declaration {
    /// A cron's first tick strictly after `instant`. None for a lock, and where there is none any more.
    ///
    /// It is what the calendar says, whether or not an instance is there to run it.
    ///
    /// # Examples
    /// ```
    /// use std::time::{Duration, SystemTime};
    ///
    /// use tako::prelude::*;
    ///
    /// static CLOSING: Cron = cron!("close-the-books", "0 3 * * *");
    ///
    /// let closing = tako::declared().into_iter().find(|declaration| declaration.name == CLOSING.name());
    /// let next = closing.and_then(|closing| closing.next_run(SystemTime::UNIX_EPOCH));
    /// assert_eq!(next, Some(SystemTime::UNIX_EPOCH + Duration::from_hours(3)));
    /// ```
    pub fn next_run(&self, instant: std::time::SystemTime) -> Option<std::time::SystemTime> {
        let Kind::Cron { schedule, zone } = self.kind else { return None };
        crate::cron::Schedule::parse(schedule, zone).ok()?.next_after(instant)
    }
}

inventory::collect!(Declaration);

/// Every declaration of a lock or a cron in this program, in any of its crates and in its tests, sorted by name, then by
/// kind and place. A function under `#[tako::lock]` stands with its own line.
///
/// # Examples
/// ```
/// use tako::prelude::*;
///
/// static REINDEX: Lock = lock!("reindex");
///
/// assert!(tako::declared().iter().any(|declaration| declaration.name == REINDEX.name()));
/// ```
pub fn declared() -> Vec<Declaration> {
    let mut all: Vec<Declaration> = inventory::iter::<Declaration>.into_iter().copied().collect();
    all.sort_unstable();
    all
}
