//! Helpers of the tests: a store that misbehaves on request, a witness of exclusion, a host with a clock of its own;
//! stores for the conformance suite, right and wrong ones; the simulation of whole fleets; tables of what is expected.

pub mod calls;
#[cfg(all(feature = "gcs", target_os = "linux"))]
pub mod chaos;
pub mod faulty;
pub mod file;
#[cfg(feature = "gcs")]
pub mod gcs_double;
#[cfg(feature = "gcs")]
pub mod gcs_engine;
#[cfg(feature = "gcs")]
pub mod gcs_server;
pub mod host;
pub mod limited;
pub mod matrix;
pub mod sim;
pub mod table;
pub mod threads;
pub mod witness;
pub mod wrong;

use tako::backend::{Extra, Fence, Key, Owner, Record, StoreTime};
use tako::prelude::{Lock, lock};

/// The lock that the scenarios contend for.
pub static LOCK: Lock = lock!("reindex");
/// Declared a second time: the same lock.
pub static SAME_LOCK: Lock = lock!("reindex");
/// Another one.
pub static OTHER_LOCK: Lock = lock!("rollup");

/// Where [`LOCK`] is kept by an engine that was given no app and no environment.
pub fn key() -> Key {
    Key::new("leases/run-app-dev-reindex", "app/dev/reindex")
}

/// A record of [`LOCK`], as somebody else has left it.
pub fn record(owner: &str, expires: StoreTime, fence: u64) -> Record {
    let (owner, fence) = (Owner::new(owner), Fence::new(fence));
    Record { owner, expires, fence, lock: key().lock().clone(), mark: None, extra: Extra::default() }
}

/// So many seconds.
pub const fn secs(seconds: u64) -> std::time::Duration {
    std::time::Duration::from_secs(seconds)
}

/// So many milliseconds.
pub const fn millis(milliseconds: u64) -> std::time::Duration {
    std::time::Duration::from_millis(milliseconds)
}
