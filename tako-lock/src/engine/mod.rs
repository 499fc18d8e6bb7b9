//! The life of a lease, above the store and below the public handles.
//!
//! ```text
//!                  turn              free: swap            every 10 s: swap
//!   visit ──▶ queue ──▶ campaign ─────────▶ claim ────▶ hold ◀────▶ heartbeat
//!                        ▲    │ held          │ lost a race │  │
//!                        └────┘ wait, load    └▶ campaign   │  │ deadline passed, or another's record
//!                                                           │  ▼
//!                         free record ◀───── release ◀──────┘ loss ──▶ context cancelled, once
//!                                     swap         code ended          and never another write
//! ```
//!
//! One verb a file. [`step`] decides and does nothing else; [`write`] settles the outcome of every conditional write;
//! the others act. A [`visit`] that takes no waiting, as in memory, goes from the queue to the hold in one call;
//! everything else is a [`campaign`].
//!
//! # Invariants
//! Each is named by its number where it is kept, and checked by that number in the tests.
//!
//! - **I1 exclusion**: two holds' live windows (user code started, not lost by their own clock) never overlap in true
//!   time, while monotonic clocks agree in rate within 5 %. Kept by: the deadline counted from before the first send
//!   ([`step::deadline`]), the guard on the campaigner's side ([`step::judge`]), compare-and-swap between.
//! - **I2 fence**: fences strictly increase in the order of grants. Kept by: [`step::judge`] and release's rewrite.
//! - **I3 exactness**: no write of a hold is applied on a record that the hold did not write. Kept by: each write names
//!   the version that it continues ([`write`]).
//! - **I4 loss is told**: when another hold's code starts, every earlier hold's `check()` is false, and its context is
//!   cancelled before its next await returns. Kept by: [`loss`], which counts by itself, and `Tenure::watch`.
//! - **I5 no false loss**: a hold whose store answers one heartbeat in every 18 s is never lost. Kept by: [`heartbeat`].
//! - **I6 liveness**: a free lock is won within one poll; after a crash within TTL + GUARD + POLL. Kept by: [`campaign`].
//! - **I7 no leak**: when everything has ended, no task, no thread and no live record is left. Kept by: guards that
//!   settle what they stand for when dropped ([`claim`], [`release`]), and the keeper, which ends with the last hold.
//! - **I8 budget**: one look per POLL while waiting, one write per HEARTBEAT while holding, whatever the number of
//!   waiters. Kept by: [`queue`].
//! - **I9 no write after the end**: once a hold is lost or given back, nothing with its owner is sent. Kept by: a lost
//!   hold has no release, and ending a hold stops its heartbeat first.

mod builder;
mod campaign;
mod check;
mod claim;
#[cfg(feature = "gcs")]
mod cloud;
#[cfg(feature = "cron")]
mod cron;
mod heartbeat;
mod hold;
#[cfg_attr(not(feature = "simulation"), allow(unreachable_pub, reason = "public by way of `simulation`"))]
pub(crate) mod loss;
mod queue;
mod release;
mod scope;
mod shutdown;
#[cfg_attr(
    not(feature = "simulation"),
    allow(unreachable_pub, unnameable_types, reason = "public by way of `simulation`")
)]
pub(crate) mod step;
mod store;
#[cfg_attr(not(feature = "simulation"), allow(unreachable_pub, reason = "public by way of `simulation`"))]
pub(crate) mod store_time;
mod visit;
mod write;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio_util::task::TaskTracker;

pub use self::builder::EngineBuilder;
pub use self::check::{Check, ClockOffset, Verdict};
use self::heartbeat::Heartbeats;
pub(crate) use self::hold::{Hold, Tenure};
pub(crate) use self::queue::Slot;
pub(crate) use self::scope::{Ending, Scope};
use self::shutdown::Closing;
pub use self::shutdown::{LeftToLapse, Shutdown};
use self::store::Store;
use self::store_time::StoreClock;
#[cfg(feature = "cron")]
pub(crate) use self::visit::Passed;
pub(crate) use self::visit::{Attempt, Begun, Mode};
use crate::backend::{Fence, Key, MemoryLease, Owner, StoreTime};
use crate::clock::Moment;
use crate::error::{ConfigError, LockError};
use crate::name::{Namespace, Subject};
use crate::policy::Policy;
use crate::world::{Ambient, World};

/// What campaigns for locks, keeps them up and gives them back, over one store.
///
/// Cheap to clone; clones are one engine. A program has one, found from its environment on first use or named with
/// [`install`](Engine::install); each test may have its own ([`Engine::memory`]) and run beside the others.
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
/// let engine = Engine::memory();
/// let ran = REINDEX.try_run(&engine.ctx(), async |_ctx| Ok::<_, LockError>("done")).await?;
/// assert_eq!(ran, Some("done"));
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Engine {
    inner: Arc<Inner>,
}

struct Inner {
    shared: Arc<Shared>,
    slots: Mutex<BTreeMap<Subject<'static>, Arc<Slot>>>,
}

/// What the parts of one engine share. Slots lead here, not back: an engine that is dropped goes when its last hold
/// has ended.
struct Shared {
    world: Arc<dyn World>,
    store: Box<dyn Store>,
    policy: Policy,
    namespace: Namespace,
    /// The part of an owner that is for people.
    label: String,
    heartbeats: Heartbeats,
    store_clock: StoreClock,
    closing: Closing,
    /// Counts the turns taken: campaigns, holds and releases.
    busy: TaskTracker,
}

impl Engine {
    /// An engine over a fresh table in memory that no other engine sees, running on the caller's runtime: for tests
    /// and for development. With tokio's paused time, tests on it are exact.
    ///
    /// The first fence of a lock is the wall clock's present, in milliseconds, since a table in memory remembers no
    /// other. Whoever keeps the highest fence on disk and turns the clock back between two runs sees the new ones refused.
    pub fn memory() -> Engine {
        Engine::memory_for(Namespace::local())
    }

    pub(crate) fn memory_for(namespace: Namespace) -> Engine {
        let (world, table) = (Arc::new(Ambient::new()), Box::new(MemoryLease::new()));
        Engine::assemble(world, table, Policy::V0, namespace, crate::config::host_label())
    }

    /// An engine over any store.
    ///
    /// # Examples
    /// Two instances of an app, over one table:
    /// ```
    /// use tako::Engine;
    /// use tako::backend::MemoryLease;
    ///
    /// # fn main() -> Result<(), tako::ConfigError> {
    /// let table = MemoryLease::new();
    /// let web_1 = Engine::builder(table.clone()).app("gallery").env("test").label("web-1").build()?;
    /// let web_2 = Engine::builder(table).app("gallery").env("test").label("web-2").build()?;
    /// # Ok(()) }
    /// ```
    pub fn builder<B: crate::backend::LeaseBackend>(backend: B) -> EngineBuilder<B> {
        EngineBuilder::new(backend)
    }

    fn assemble(
        world: Arc<dyn World>,
        store: Box<dyn Store>,
        policy: Policy,
        namespace: Namespace,
        label: String,
    ) -> Engine {
        let shared = Arc::new(Shared {
            world,
            store,
            policy,
            namespace,
            label,
            heartbeats: Heartbeats::default(),
            store_clock: StoreClock::default(),
            closing: Closing::default(),
            busy: TaskTracker::new(),
        });
        Engine { inner: Arc::new(Inner { shared, slots: Mutex::default() }) }
    }

    /// Refuses new callers, sends waiters home, tells holders to stop, keeps their leases up until their code has
    /// ended, and gives each back then. What has not ended within `grace` is left to lapse, and named in the answer.
    ///
    /// Calling it again waits for the same.
    ///
    /// # Cancel safety
    /// The engine stays closed and holders stay told; whatever ends later is still given back. Only the wait ends.
    ///
    /// # Examples
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let engine = tako::Engine::memory();
    /// let shutdown = engine.shutdown(std::time::Duration::from_secs(10)).await;
    /// assert!(shutdown.is_clean());
    /// # }
    /// ```
    pub async fn shutdown(&self, grace: Duration) -> Shutdown {
        self.inner.shared.shut_down(grace).await
    }

    /// Looks up who holds the lock `name`: one read of the store. `cron.<name>` is the lease of the cron `<name>`, and
    /// `deploy.lease` the [`deploy_lease`](crate::deploy_lease).
    ///
    /// `None`: nobody has it. The answer is as old as the read; only `run` and `try_run` can act on it.
    ///
    /// # Errors
    /// As [`try_run`](crate::Lock::try_run), with no retry; [`LockError::Config`] for what is not a lock's name.
    ///
    /// # Cancel safety
    /// It leaves nothing behind.
    ///
    /// # Examples
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tako::LockError> {
    /// let engine = tako::Engine::memory();
    /// assert_eq!(engine.inspect("reindex").await?, None);
    /// # Ok(()) }
    /// ```
    pub async fn inspect(&self, name: &str) -> Result<Option<Holder>, LockError> {
        self.inner.shared.inspect(self.key(name)?, name).await
    }
}

impl Engine {
    /// Where the record of the lock `name` stands in the store, and the identity that it bears: for operators, and for
    /// tests that break a lock by force. `name` is as for [`inspect`](Engine::inspect).
    ///
    /// # Errors
    /// What is not a lock's name.
    ///
    /// # Examples
    /// ```
    /// # fn main() -> Result<(), tako::ConfigError> {
    /// let engine = tako::Engine::memory();
    /// assert_eq!(engine.key("re-index")?.path(), "leases/run-app-dev-re--index");
    /// # Ok(()) }
    /// ```
    pub fn key(&self, name: &str) -> Result<Key, ConfigError> {
        Subject::of(name)
            .map(|subject| self.inner.shared.namespace.key(subject))
            .map_err(|fault| ConfigError::one(format!("`{name}` is not the name of a lock: {fault}")))
    }

    /// The lease for `subject`, as this process knows it.
    pub(crate) fn slot(&self, subject: Subject<'static>) -> Arc<Slot> {
        let Inner { shared, slots } = &*self.inner;
        let make = || Arc::new(Slot::new(shared.clone(), subject.title(), shared.namespace.key(subject)));
        slots.lock().unwrap_or_else(PoisonError::into_inner).entry(subject).or_insert_with(make).clone()
    }

    pub(crate) fn world(&self) -> &Arc<dyn World> {
        &self.inner.shared.world
    }
}

/// Who holds a lock, as its record tells.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Holder {
    /// Who: a label for people, and the id of the acquisition.
    pub owner: Owner,
    /// The hold's fence.
    pub fence: Fence,
    /// When the lease ends unless it is renewed, in the store's time.
    pub expires: StoreTime,
    /// Whether that time has passed, as far as this process can tell: the holder is gone, and the next campaigner
    /// takes over.
    pub is_expired: bool,
}

impl Holder {
    /// About when the hold began, in the store's time; `None` when the record cannot tell.
    ///
    /// The record keeps no such instant of its own. A fence is the present in milliseconds, unless the one before was
    /// ahead of that, or the holder did not know the store's time; so this is right to about a second wherever locks
    /// change hands less often than once a millisecond, and for people to read.
    pub fn since(&self) -> Option<StoreTime> {
        let since = StoreTime::from_millis(self.fence.get());
        // A lease outlasts its beginning by a TTL: what does not is a number, and no time.
        (since.as_millis() == self.fence.get() && since < self.expires).then_some(since)
    }
}

impl Shared {
    async fn inspect(&self, key: Key, name: &str) -> Result<Option<Holder>, LockError> {
        let asked = self.world.now();
        let failed = |error| {
            LockError::from_backend(name.into(), key.path().into(), self.world.now().since(asked), error)
        };
        let Some(stored) = self.store.load(&key).answer().await.map_err(failed)? else { return Ok(None) };
        let record = stored.record;
        if record.lock != *key.lock() {
            return Err(failed(step::RecordFault::Foreign { found: record.lock }.into()));
        }
        if record.is_released() {
            return Ok(None);
        }
        let store_now = self.store_clock.read(self.world.now());
        let is_expired = store_now.is_some_and(|now| now.earliest() >= record.expires);
        Ok(Some(Holder { owner: record.owner, fence: record.fence, expires: record.expires, is_expired }))
    }

    /// An owner that no other acquisition has, in this process or any other. Two processes that were one when their
    /// random numbers were drawn, by a fork or a snapshot, do not share the instant to the nanosecond.
    fn new_owner(&self, now: Moment) -> Owner {
        let mut text = [0_u8; builder::MAX_LABEL + 33];
        let label = self.label.len();
        text[..label].copy_from_slice(self.label.as_bytes());
        text[label] = b'#';
        let id = (self.world.random() ^ u128::from(now.as_nanos())).to_be_bytes();
        for (pair, byte) in text[label + 1..].chunks_exact_mut(2).zip(id) {
            const DIGITS: &[u8; 16] = b"0123456789abcdef";
            pair[0] = DIGITS[usize::from(byte >> 4)];
            pair[1] = DIGITS[usize::from(byte & 15)];
        }
        // Always text: a label and ASCII.
        Owner::new(str::from_utf8(&text[..label + 33]).unwrap_or_default())
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("namespace", &self.inner.shared.namespace).finish_non_exhaustive()
    }
}
