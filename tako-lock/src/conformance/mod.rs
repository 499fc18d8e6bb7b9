//! The suite that every backend passes, for authors of backends.
//!
//! A lock is as good as its store. [`LeaseBackend`] says what a store has to
//! promise; each public function here proves one sentence of it over any `&impl LeaseBackend`. A store that passes
//! can be handed to [`Engine::builder`](crate::Engine::builder): campaign, heartbeat, loss and release are the
//! engine's and the same for all.
//!
//! # Running it
//! Enable the feature `conformance` in `[dev-dependencies]`, and expand the suite into a module of its own, say in
//! `tests/conformance.rs`:
//! ```
//! mod table {
//!     # use tako::backend::MemoryLease as TableLease;
//!     tako::conformance::suite!(TableLease::new());
//! }
//! ```
//! The expression makes the backend; every test evaluates it anew, inside an `async` block on a tokio runtime, so it
//! may `.await` a connection: `suite!(TableLease::connect("localhost:5432").await)`. It may also give an `Option`:
//! on `None` the tests say that they were skipped, as they should where the address of a server is not set.
//! ```
//! mod real_bucket {
//!     # use tako::backend::MemoryLease as BucketLease;
//!     use tako::conformance::Pace;
//!
//!     tako::conformance::suite!(
//!         std::env::var("TEST_BUCKET").ok().map(|_name| BucketLease::new()),
//!         Pace::ONE_WRITE_A_SECOND,
//!     );
//! }
//! ```
//! Each test uses keys of its own, drawn at random, so tests run side by side and a real store can be used again.
//! Their paths start with `leases/run-conformance-test-`; the records stay behind.
//!
//! Without the macro, in a test of your own:
//! ```
//! use tako::backend::MemoryLease;
//! use tako::conformance::{self, Pace, Violation};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Violation> {
//! let backend = MemoryLease::new();
//! conformance::probe(&backend, Pace::FULL).await?;
//! conformance::a_stale_token_is_refused(&backend, Pace::FULL).await?;
//! # Ok(()) }
//! ```
//! [`verify`] proves all in a row. The properties run on any executor; only pauses (a [`Pace::gap`], a throttled
//! request, [`the_clock_keeps_pace`]) need tokio's timer.
//!
//! # What comes first
//! [`probe`] asks whether this is a store at all, once a suite; when it fails, every test fails with its message. A
//! double that says yes to everything passes any test that does not ask twice, and proves nothing.
//!
//! # What is proved
//!
//! | | |
//! |---|---|
//! | writes | [`a_record_is_created_once`], [`a_swap_on_the_current_token_is_applied`], [`a_stale_token_is_refused`], [`expecting_a_token_does_not_create`], [`a_refused_swap_changes_nothing`], [`a_released_record_is_still_there`] |
//! | reads | [`an_absent_key_loads_none`], [`a_load_sees_the_last_applied_swap`], [`the_answered_token_is_the_stored_one`] |
//! | tokens | [`every_applied_swap_makes_a_fresh_token`], [`a_record_written_before_gets_a_token_of_its_own`] |
//! | records | [`every_owner_comes_back_exactly`], [`every_fence_comes_back_exactly`], [`every_expiry_comes_back_exactly`], [`every_identity_comes_back_exactly`], [`every_mark_comes_back_exactly`], [`unknown_fields_come_back`] |
//! | keys | [`keys_do_not_influence_each_other`] |
//! | time | [`the_clock_does_not_go_back`], [`the_clock_keeps_pace`], [`a_write_is_dated_by_the_stores_clock`] |
//! | dropped requests | [`a_dropped_swap_lands_whole_or_not_at_all`] |
//! | races | [`one_of_many_creates`], [`one_of_many_swaps`], [`no_increment_is_lost`] |
//! | by hand | [`two_instances_share_one_store`], [`a_foreign_body_is_corrupt`] |
//!
//! Each answers [`Violation`] when it does not hold: the property's name, what came back, the sentence of the
//! contract, and the last requests. `suite!` panics with its text.
//!
//! # Stores with a rate limit
//! Hand the suite a [`Pace`]: fewer racers, and a pause between two writes of one key. A request that the backend
//! reports as [throttled](crate::backend::ErrorKind::Throttled) is sent again after a pause; in a race on such a
//! store most racers get their turn so. Any other error ends the test: it judges a healthy store.
//!
//! # Races on threads
//! The races poll all their requests in one task, so these meet wherever a verb waits. A backend whose verbs never
//! wait, such as a table behind a mutex, meets itself only on threads: wrap it so that each verb runs as a task of
//! a runtime with several threads, and run the suite over the wrapper as well.
//!
//! # What no suite can show
//! That a write which may have been applied is never reported as one that was not: break connections and lose
//! replies on purpose, in tests of your own. That the store survives its own restart with what it has answered.
//!
//! This module is outside of semver: a property that was missing may be added in any release.
//!
//! [`LeaseBackend`]: crate::backend::LeaseBackend

mod by_hand;
mod dropped;
mod join;
mod keys;
mod pace;
mod probe;
mod races;
mod records;
mod suite;
mod swaps;
mod time;
mod tokens;
mod trial;
mod violation;

pub use self::by_hand::{a_foreign_body_is_corrupt, two_instances_share_one_store};
pub use self::dropped::a_dropped_swap_lands_whole_or_not_at_all;
pub use self::keys::keys_do_not_influence_each_other;
pub use self::pace::{CLOCK_TOLERANCE, Pace};
pub use self::probe::probe;
pub use self::races::{no_increment_is_lost, one_of_many_creates, one_of_many_swaps};
pub use self::records::{
    every_expiry_comes_back_exactly, every_fence_comes_back_exactly, every_identity_comes_back_exactly,
    every_mark_comes_back_exactly, every_owner_comes_back_exactly, unknown_fields_come_back,
};
#[doc(hidden)]
pub use self::suite::{__Candidate, __Probed, __test};
pub use self::suite::{PROPERTIES, verify, violations};
pub use self::swaps::{
    a_record_is_created_once, a_refused_swap_changes_nothing, a_released_record_is_still_there,
    a_stale_token_is_refused, a_swap_on_the_current_token_is_applied, an_absent_key_loads_none,
    expecting_a_token_does_not_create,
};
pub use self::time::{
    a_write_is_dated_by_the_stores_clock, the_clock_does_not_go_back, the_clock_keeps_pace,
};
pub use self::tokens::{
    a_load_sees_the_last_applied_swap, a_record_written_before_gets_a_token_of_its_own,
    every_applied_swap_makes_a_fresh_token, the_answered_token_is_the_stored_one,
};
pub use self::violation::Violation;

/// One `#[test]` for each property, and `probe` before them: `suite!(backend)` or `suite!(backend, pace)`.
///
/// `backend` is an expression, evaluated in each test inside an `async` block: a backend, or an `Option` of one, on
/// whose `None` the tests are skipped. `pace` is a [`Pace`], [`Pace::FULL`] unless given. The tests bear the names
/// of the properties, so each use wants a module of its own.
///
/// # Panics
/// Each test does so when its property does not hold, with the [`Violation`]'s text; all of them when the probe
/// fails; and one that has not ended within [`Pace::limit`].
///
/// # Examples
/// ```
/// mod memory {
///     tako::conformance::suite!(tako::backend::MemoryLease::new());
/// }
/// ```
#[doc(inline)]
pub use crate::__conformance_suite as suite;
