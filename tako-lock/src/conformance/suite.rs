//! The properties in a row, and as tests.

use std::error::Error;
use std::fmt::Write;
use std::future::Future;

use super::join::before;
use super::trial::Trial;
use super::violation::contract;
use super::{Pace, Violation};
use crate::backend::LeaseBackend;
use crate::clock::HostClock;

// The only list of the properties. What they prove goes from the simple to the races, so that the first violation
// explains those after it.
#[doc(hidden)]
#[macro_export]
macro_rules! __conformance_properties {
    ([$($then:tt)+] $($given:tt)*) => {
        $($then)+ ! {
            { $($given)* }
            an_absent_key_loads_none
            a_record_is_created_once
            a_swap_on_the_current_token_is_applied
            a_stale_token_is_refused
            expecting_a_token_does_not_create
            a_refused_swap_changes_nothing
            a_load_sees_the_last_applied_swap
            the_answered_token_is_the_stored_one
            a_released_record_is_still_there
            every_applied_swap_makes_a_fresh_token
            a_record_written_before_gets_a_token_of_its_own
            every_owner_comes_back_exactly
            every_fence_comes_back_exactly
            every_expiry_comes_back_exactly
            every_identity_comes_back_exactly
            every_mark_comes_back_exactly
            unknown_fields_come_back
            keys_do_not_influence_each_other
            the_clock_does_not_go_back
            the_clock_keeps_pace
            a_write_is_dated_by_the_stores_clock
            a_dropped_swap_lands_whole_or_not_at_all
            one_of_many_creates
            one_of_many_swaps
            no_increment_is_lost
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __conformance_suite {
    ($backend:expr $(,)?) => {
        $crate::__conformance_suite! { $backend, $crate::conformance::Pace::FULL }
    };
    ($backend:expr, $pace:expr $(,)?) => {
        static __TAKO_PROBED: $crate::conformance::__Probed = $crate::conformance::__Probed::new();

        #[test]
        fn probe() {
            $crate::conformance::__test("probe", $pace, &__TAKO_PROBED, async { $backend }, async |_, _| {
                Ok(())
            });
        }

        $crate::__conformance_properties! { [$crate::__conformance_tests] $backend, $pace }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __conformance_tests {
    ({ $backend:expr, $pace:expr } $($property:ident)+) => {
        $(#[test]
        fn $property() {
            $crate::conformance::__test(
                stringify!($property),
                $pace,
                &__TAKO_PROBED,
                async { $backend },
                async |backend, pace| $crate::conformance::$property(backend, pace).await,
            );
        })+
    };
}

macro_rules! names {
    ({} $($property:ident)+) => { &[$(stringify!($property)),+] };
}

/// The name of each property of [`suite!`](super::suite), in the order in which [`verify`] proves them. The probe, which comes
/// before, is not among them.
pub const PROPERTIES: &[&str] = crate::__conformance_properties!([names]);

/// Probes the store, then proves one property after another; stops at the first that does not hold.
///
/// # Errors
/// That property, by name, and how it was broken.
pub async fn verify(backend: &impl LeaseBackend, pace: Pace) -> Result<(), Violation> {
    macro_rules! in_a_row {
        ({} $($property:ident)+) => { $(super::$property(backend, pace).await?;)+ };
    }
    super::probe(backend, pace).await?;
    crate::__conformance_properties!([in_a_row]);
    Ok(())
}

/// Probes the store and tries every property, also those after one that does not hold; what does not.
pub async fn violations(backend: &impl LeaseBackend, pace: Pace) -> Vec<Violation> {
    macro_rules! each {
        ({} $($property:ident)+) => { [$(super::$property(backend, pace).await),+] };
    }
    let probed = super::probe(backend, pace).await;
    let answers = crate::__conformance_properties!([each]);
    std::iter::once(probed).chain(answers).filter_map(Result::err).collect()
}

/// The answer of one suite's probe, asked for once in all its tests.
#[doc(hidden)]
#[derive(Debug)]
pub struct __Probed(tokio::sync::OnceCell<Result<(), Violation>>);

impl __Probed {
    #[doc(hidden)]
    #[allow(clippy::new_without_default, reason = "for a static in generated code")]
    pub const fn new() -> __Probed {
        __Probed(tokio::sync::OnceCell::const_new())
    }
}

/// What the expression in `suite!` may be: a backend, or perhaps one.
#[doc(hidden)]
pub trait __Candidate {
    type Backend: LeaseBackend;
    fn present(self) -> Option<Self::Backend>;
}

impl<B: LeaseBackend> __Candidate for B {
    type Backend = B;
    fn present(self) -> Option<B> {
        Some(self)
    }
}

impl<B: LeaseBackend> __Candidate for Option<B> {
    type Backend = B;
    fn present(self) -> Option<B> {
        self
    }
}

/// Runs one test of a suite.
///
/// # Panics
/// With the violation as the message.
#[doc(hidden)]
pub fn __test<C: __Candidate>(
    name: &'static str,
    pace: Pace,
    probed: &__Probed,
    candidate: impl Future<Output = C>,
    property: impl AsyncFnOnce(&C::Backend, Pace) -> Result<(), Violation>,
) {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => panic!("no runtime for the test could be made: {error}"),
    };
    let outcome = runtime.block_on(async {
        let Some(backend) = candidate.await.present() else {
            eprintln!("skipped `{name}`: there is no backend to try it on");
            return Ok(());
        };
        let clock = HostClock::runtime();
        let deadline = clock.now().plus(pace.limit);
        let proof = async {
            probed.0.get_or_init(async || super::probe(&backend, pace).await).await.clone()?;
            property(&backend, pace).await
        };
        before(clock.sleep_until(deadline), proof).await.unwrap_or_else(|| {
            let found = format_args!("it has not ended within {:?}", pace.limit);
            Err(Trial::new(name, &backend, pace).broken(contract::ANSWERS, found))
        })
    });
    if let Err(violation) = outcome {
        let mut message = violation.to_string();
        let mut cause = violation.source();
        while let Some(error) = cause {
            // Writing to a string does not fail.
            let _ = write!(message, "\n  caused by: {error}");
            cause = error.source();
        }
        panic!("{message}");
    }
}
