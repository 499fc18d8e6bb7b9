//! Where a distributed lock breaks: each test replays one way, and says in its name what must hold.
//!
//! tests/README.md lists which scenario of the public record each of them stands for.

#![allow(
    clippy::unchecked_time_subtraction,
    reason = "spans of a test's own making; one below zero is a failed test"
)]

mod ambiguity;
mod backends;
mod blocking;
mod chance;
mod clocks;
mod context;
mod endings;
mod exclusion;
mod in_place;
mod local;
mod loss;
mod records;
mod renewal;
mod shutdown;
mod store_limits;
