//! Where a distributed lock breaks: each test replays one way, and says in its name what must hold.
//!
//! tests/README.md lists which scenario of the public record each of them stands for.

mod ambiguity;
mod backends;
mod blocking;
mod clocks;
mod context;
mod endings;
mod exclusion;
mod local;
mod loss;
mod records;
mod renewal;
mod shutdown;
mod store_limits;
