//! Leases in Google Cloud Storage, over the tests' own double of it and over the emulator that people use.

mod cell;
mod cost;
mod crowd;
mod limits;
mod matrix;
mod parity;
mod processes;
mod storm;
mod suite;

/// Says that a test had no server to run on.
fn skipped() {
    eprintln!("skipped: STORAGE_EMULATOR_HOST is not set");
}
