//! Locks declared as compile-time-checked statics, held across all instances of an app.
//!
//! ```
//! use tako::prelude::*;
//! use tako::LockError;
//!
//! static RELOCK: Lock = lock!("reindex");
//!
//! # async fn rebuild(_ctx: &Ctx) -> Result<u64, LockError> { Ok(7) }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), LockError> {
//! let ctx = Ctx::background();
//! // Waits until the lock is held, runs the closure holding it, gives it back.
//! let run = RELOCK.run(&ctx, async |ctx| rebuild(&ctx).await).await?;
//! // One attempt. `None`: somebody else holds it, which is often the right answer and no error.
//! let ran = RELOCK.try_run(&ctx, async |ctx| rebuild(&ctx).await).await?;
//! # assert_eq!((run, ran), (7, Some(7)));
//! # Ok(()) }
//! ```
//!
//! A lock guards critical sections that span processes: a rebuild across entities, a call into an external system, a
//! sequential cursor. It is not for the atomicity of a single entity: that is a transaction's job, cheaper and free of
//! contention.
//!
//! # Ten minutes
//!
//! **Declare.** A name and nothing else. The name is the identity: two declarations of one name are the same lock, and
//! [`declared()`] lists all of a program's. There are no options, because in v0 the framework owns the lease policy
//! ([`policy`]); the compiler says so, and what to do instead ([`errors`]).
//!
//! **Run.** [`Lock::run`] waits in line, [`Lock::try_run`] does not. Both take a context and a closure; there is no guard
//! to forget. [`#[tako::lock("import")]`](macro@lock) on an `async fn` does the same for a whole function.
//!
//! **Hold.** Under a lock lies a *lease*: a named record `{owner, expires, fence}` in a store that can compare and swap.
//! Whoever swaps it from free to its own holds it for 30 s, and renews it every 10 s while the closure runs. So work of
//! any length keeps its lock, and a crash needs no cleanup: the record runs out, and the next campaigner takes over.
//!
//! **Lose.** A lease can be lost: the store was out of reach for too long, the process was stopped, an operator broke the
//! lock. At that moment the closure's [`Ctx`] is cancelled. Cancellation is cooperative, so work that must not act
//! without the lease asks [`Ctx::check`] before each act, which looks at the clock itself. If the closure succeeds all
//! the same, its caller gets [`LockError::Lost`].
//!
//! **Fence.** No lock can stop a process that has stalled between the check and the act. [`Ctx::fence`] is a number that
//! grows with every hold: give it to whatever the work changes, and let that refuse a number below the highest it has
//! seen.
//!
//! **Test.** [`Engine::memory`] is a table of its own for each test, on tokio's paused time if you like: the same engine,
//! the same heartbeats, no global state.
//!
//! # Where leases live
//!
//! The context carries the [`Engine`]. [`Ctx::background`] means the program's own: the installed one
//! ([`Engine::install`]), or on first use the one that the environment tells.
//!
//! | variable | meaning |
//! |---|---|
//! | `TAKO_ENV` | the environment, such as `prod` or `pr-42`; unset, `dev` or `test`: leases in memory |
//! | `TAKO_APP` | the app's name |
//! | `TAKO_PROJECT` | the Google Cloud project, whose bucket `<project>-tako` has the leases |
//! | `TAKO_BUCKET` | another bucket |
//! | `TAKO_LEASE` | `memory` or `gcs` forces leases there |
//! | `STORAGE_EMULATOR_HOST` | an emulator of Cloud Storage, such as `localhost:4443` |
//!
//! Any other environment than `dev` and `test` has its leases in Google Cloud Storage, with the feature `gcs`; it needs
//! `TAKO_PROJECT` and `TAKO_APP`. How to set it up, what it costs, and what to do when a lease is stuck: [`cloud`].
//!
//! In memory a lock excludes the tasks of one process. In the cloud (`K_SERVICE` or `KUBERNETES_SERVICE_HOST` is set) that
//! is refused unless `TAKO_LEASE=memory` says that it is meant. Any store that can compare and swap may host leases:
//! implement [`backend::LeaseBackend`], and pass it to [`Engine::builder`].
//!
//! # Not yet
//!
//! What v0 leaves out, and why, stands in [`not_yet`].
//!
//! # Features
//!
//! - `cron`: work that recurs, once a tick across all instances or on one of them ([`cron`](mod@cron)).
//! - `gcs`: leases in Google Cloud Storage, by Google's own client ([`cloud`]).
//! - `conformance`: the suite that every backend has to pass.
//! - `simulation`: doors for tests that run the real engine in a simulated world. Outside of semver.

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;
pub mod backend;
#[cfg_attr(not(feature = "simulation"), allow(unreachable_pub, reason = "public by way of `simulation`"))]
mod clock;
#[doc = include_str!("docs/cloud.md")]
#[cfg_attr(
    not(feature = "gcs"),
    allow(rustdoc::broken_intra_doc_links, reason = "it names what the feature adds")
)]
pub mod cloud {}
mod config;
#[cfg(feature = "conformance")]
pub mod conformance;
#[cfg(feature = "cron")]
pub mod cron;
mod ctx;
mod engine;
mod error;
#[cfg_attr(
    not(feature = "gcs"),
    allow(rustdoc::broken_intra_doc_links, reason = "it names what the feature adds")
)]
#[doc = include_str!("docs/errors.md")]
#[doc = include_str!("docs/errors-compile.md")]
pub mod errors {}
mod global;
mod lock;
mod name;
mod name_rules;
#[doc = include_str!("docs/not-yet.md")]
pub mod not_yet {}
pub mod policy;
pub mod prelude;
mod race;
mod record;
#[cfg_attr(not(feature = "simulation"), allow(unreachable_pub, reason = "public by way of `simulation`"))]
mod world;

// The public interface:
#[cfg(feature = "cron")]
#[doc(inline)]
pub use crate::__cron as cron;
#[cfg(feature = "gcs")]
pub use crate::backend::gcs::GcsConfig;
#[cfg(feature = "cron")]
pub use crate::cron::Cron;
pub use crate::ctx::Ctx;
pub use crate::engine::{Check, ClockOffset, Engine, EngineBuilder, Holder, LeftToLapse, Shutdown, Verdict};
pub use crate::error::{CancelCause, Cancelled, ConfigError, LockError, LossCause, Lost};
pub use crate::lock::{Declaration, Kind, Lock, declared, deploy_lease};
pub use crate::record::{Fence, Owner, StoreTime};
#[doc = include_str!("docs/attribute.md")]
#[doc(inline)]
pub use tako_lock_macros::lock;

/// The doors that a simulation of the engine needs. Outside of semver.
#[cfg(feature = "simulation")]
pub mod simulation {
    pub use crate::clock::Moment;
    pub use crate::policy::Policy;
    pub use crate::world::{BoxFuture, World};

    /// The engine's decisions, for a model of the protocol that makes the same.
    #[doc(hidden)]
    pub mod decisions {
        pub use crate::engine::loss::{Deadline, Standing};
        pub use crate::engine::step::{
            Confirmed, RecordFault, Refusal, Step, View, Watched, after_refusal, beat_due, deadline,
            is_useful, judge,
        };
        pub use crate::engine::store_time::Reading;
    }
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
