//! What compiles, and what it then does.
#![forbid(unsafe_code)]

mod attributes;
mod crons;
mod declarations;
mod error;
mod holding;
mod hygiene;
mod signatures;
mod traits;
mod two_locks;
