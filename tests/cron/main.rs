//! Crons: who runs which tick, and what becomes of the others.

mod clocks;
mod everywhere;
mod fleet;
#[cfg(feature = "gcs")]
mod gcs;
mod marks;
mod singleflight;
mod singleton;
mod stage;
mod work;
