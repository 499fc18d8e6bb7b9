//! Helpers.

pub mod file;
#[cfg(feature = "gcs")]
pub mod gcs_double;
#[cfg(feature = "gcs")]
pub mod gcs_engine;
#[cfg(feature = "gcs")]
pub mod gcs_server;
pub mod limited;
pub mod threads;
pub mod wrong;
