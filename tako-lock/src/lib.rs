//! Locks.
pub mod backend;
mod clock;
mod config;
#[cfg(feature = "conformance")]
pub mod conformance;
mod ctx;
mod engine;
mod error;
mod global;
mod lock;
mod name;
mod name_rules;
pub mod policy;
mod record;
mod world;

pub use crate::ctx::Ctx;
pub use crate::engine::{Engine, EngineBuilder, Holder, LeftToLapse, Shutdown};
pub use crate::error::{CancelCause, Cancelled, ConfigError, LockError, LossCause, Lost};
pub use crate::lock::{Declaration, Lock, declared};
pub use crate::record::{Fence, Owner, StoreTime};

/// The doors that a simulation of the engine needs. Outside of semver.
#[cfg(feature = "simulation")]
pub mod simulation {
    pub use crate::clock::Moment;
    pub use crate::policy::Policy;
    pub use crate::world::{BoxFuture, World};
}
