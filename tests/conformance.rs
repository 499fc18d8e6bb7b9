//! The conformance suite: on the backends that must pass it, and on those that it must stop.

use std::collections::BTreeSet;
use std::fs;
use std::pin::pin;
use std::process::{Command, Stdio};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tako::backend::{
    BackendError, ErrorKind, Key, LeaseBackend, MemoryLease, Record, StoreTime, Stored, Swap, Token,
};
use tako::conformance::{self, PROPERTIES, Pace};
use tako::prelude::*;
use tako::{Engine, Fence, Lock, LockError};
use tako_lock_tests::file::{FileLease, Scratch};
use tako_lock_tests::limited::Limited;
use tako_lock_tests::threads::OnThreads;
use tako_lock_tests::wrong::{Fault, Wrong};

mod memory {
    tako::conformance::suite!(tako::backend::MemoryLease::new());
}

mod memory_on_threads {
    use tako_lock_tests::threads::OnThreads;

    tako::conformance::suite!(OnThreads::new(tako::backend::MemoryLease::new()));
}

mod file {
    tako::conformance::suite!(tako_lock_tests::file::FileLease::scratch().unwrap());
}

mod file_on_threads {
    use tako_lock_tests::{file::FileLease, threads::OnThreads};

    tako::conformance::suite!(OnThreads::new(FileLease::scratch().unwrap()));
}

mod a_server_that_is_not_there {
    tako::conformance::suite!(None::<tako::backend::MemoryLease>);
}

/// The stores that the probe stops: its message, and the property that sees the fault when it is tried alone.
const PROBED: &[(Fault, &str, &str)] = &[
    (Fault::SaysYesToEverything, "this store says yes to everything", "a_stale_token_is_refused"),
    (Fault::IgnoresTheExpectedToken, "this store says yes to everything", "a_stale_token_is_refused"),
    (Fault::SaysNoToEverything, "this store refuses to create", "a_swap_on_the_current_token_is_applied"),
    (
        Fault::TakesExpectingNothingForNotCaring,
        "this store creates a record over one that exists",
        "a_record_is_created_once",
    ),
    (
        Fault::CreatesForAToken,
        "this store creates a record for a swap that expects a token",
        "expecting_a_token_does_not_create",
    ),
    (Fault::RefusesWithAnError, "this store reports a refusal as an error", "a_stale_token_is_refused"),
    (Fault::AnswersTheTokenBefore, "the same token to two writes", "the_answered_token_is_the_stored_one"),
    (Fault::ChecksThenActs, "of 2 racing swaps that expect token 2, 2 were applied", "one_of_many_swaps"),
];

/// The stores that pass the probe, and the first property that they do not have.
const CAUGHT: &[(Fault, &str)] = &[
    (Fault::FailsOnAnAbsentKey, "an_absent_key_loads_none"),
    (Fault::AppliesEverySeventhAndSaysRefused, "a_swap_on_the_current_token_is_applied"),
    (Fault::RefusesAndWrites, "a_refused_swap_changes_nothing"),
    (Fault::RemembersItsReads, "a_load_sees_the_last_applied_swap"),
    (Fault::LoadsTheTokenBefore, "the_answered_token_is_the_stored_one"),
    (Fault::ForgetsReleasedRecords, "a_released_record_is_still_there"),
    (Fault::CountsTokensInAByte, "every_applied_swap_makes_a_fresh_token"),
    (Fault::HashesTheRecordForAToken, "a_record_written_before_gets_a_token_of_its_own"),
    (Fault::CutsOwners, "every_owner_comes_back_exactly"),
    (Fault::KeepsFencesSigned, "every_fence_comes_back_exactly"),
    (Fault::KeepsFencesAsFloats, "every_fence_comes_back_exactly"),
    (Fault::KeepsWholeSeconds, "every_expiry_comes_back_exactly"),
    (Fault::KeepsNoIdentity, "every_identity_comes_back_exactly"),
    (Fault::ForgetsMarks, "every_mark_comes_back_exactly"),
    (Fault::ForgetsUnknownFields, "unknown_fields_come_back"),
    (Fault::EndsKeysAtADoubledHyphen, "keys_do_not_influence_each_other"),
    (Fault::CutsPaths, "keys_do_not_influence_each_other"),
    (Fault::TurnsItsClockBack, "the_clock_does_not_go_back"),
    (Fault::HasAClockThatStands, "the_clock_keeps_pace"),
    (Fault::CountsMicroseconds, "the_clock_keeps_pace"),
    (Fault::DatesWritesByAnotherClock, "a_write_is_dated_by_the_stores_clock"),
    (Fault::WritesInHalves, "a_dropped_swap_lands_whole_or_not_at_all"),
    (Fault::ChecksThenCreates, "one_of_many_creates"),
    (Fault::ChecksThenActsUnderLoad, "one_of_many_creates"),
];

#[tokio::test(start_paused = true)]
async fn every_wrong_store_fails_by_name_and_every_property_is_needed() {
    let probed = PROBED.iter().map(|(fault, _, alone)| (*fault, "probe", *alone));
    let caught = CAUGHT.iter().map(|(fault, first)| (*fault, *first, *first));
    let mut seen = BTreeSet::new();
    let mut missed = Vec::new();
    for (fault, first, alone) in probed.chain(caught) {
        let found = conformance::violations(&Wrong::new(fault), Pace::FULL).await;
        let names: Vec<&str> = found.iter().map(conformance::Violation::property).collect();
        let stopped = conformance::verify(&Wrong::new(fault), Pace::FULL).await;
        let stopped = stopped.err().map(|violation| violation.property());
        if stopped != Some(first) || names.first() != Some(&first) || !names.contains(&alone) {
            missed.push(format!("{fault:?} is stopped by {stopped:?} and fails {names:?}"));
        }
        seen.extend(names);
    }
    assert!(missed.is_empty(), "{missed:#?}");
    let idle: Vec<_> = PROPERTIES.iter().filter(|name| !seen.contains(*name)).collect();
    assert!(idle.is_empty(), "no wrong store is seen by {idle:?}");
}

#[tokio::test(start_paused = true)]
async fn the_probe_says_what_sort_of_store_it_met() {
    for (fault, message, _) in PROBED {
        let violation = conformance::probe(&Wrong::new(*fault), Pace::FULL).await.unwrap_err();
        assert_eq!(violation.property(), "probe");
        assert!(violation.to_string().contains(message), "{fault:?}: {violation}");
    }
}

#[tokio::test]
async fn a_violation_tells_what_was_done_what_came_back_and_what_was_promised() {
    let wrong = Wrong::new(Fault::IgnoresTheExpectedToken);
    let violation = conformance::a_stale_token_is_refused(&wrong, Pace::FULL).await.unwrap_err();
    let text = violation.to_string();
    for part in [
        "`a_stale_token_is_refused` does not hold: a swap on a stale token was applied, with token 3",
        "the contract: `swap` writes only while the stored token is the expected one",
        "expecting nothing, to fence 1 -> applied, token 1",
        "expecting token 1, to fence 3 -> applied, token 3",
    ] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
#[should_panic(expected = "`probe` does not hold: this store says yes to everything")]
fn a_store_that_says_yes_to_everything_stops_each_test_of_the_suite() {
    conformance::__test(
        "every_owner_comes_back_exactly",
        Pace::FULL,
        &conformance::__Probed::new(),
        async { Wrong::new(Fault::SaysYesToEverything) },
        async |_, _| panic!("no property may be tried on such a store"),
    );
}

#[test]
#[should_panic(
    expected = "`a_dropped_swap_lands_whole_or_not_at_all` does not hold: it has not ended within 200ms"
)]
fn a_store_that_hangs_fails_by_name() {
    conformance::__test(
        "a_dropped_swap_lands_whole_or_not_at_all",
        Pace { limit: Duration::from_millis(200), ..Pace::FULL },
        &conformance::__Probed::new(),
        async { Wrong::new(Fault::HangsAfterADroppedSwap) },
        async |backend, pace| conformance::a_dropped_swap_lands_whole_or_not_at_all(backend, pace).await,
    );
}

#[tokio::test]
async fn a_race_in_a_store_that_never_waits_is_seen_on_threads() {
    let pace = Pace { racers: 8, rounds: 3, ..Pace::FULL };
    let wrong = || Wrong::new(Fault::ChecksThenActsWithoutWaiting);
    conformance::one_of_many_swaps(&wrong(), pace).await.unwrap();
    let violation = conformance::one_of_many_swaps(&OnThreads::new(wrong()), pace).await.unwrap_err();
    assert_eq!(violation.property(), "one_of_many_swaps");
}

#[test]
fn the_races_need_no_runtime_and_can_be_spawned() {
    fn ends_at_once<F: Future<Output = ()> + Send>(future: F) {
        let mut context = Context::from_waker(Waker::noop());
        assert_eq!(pin!(future).poll(&mut context), Poll::Ready(()));
    }
    let table = MemoryLease::new();
    ends_at_once(async {
        conformance::probe(&table, Pace::FULL).await.unwrap();
        conformance::one_of_many_swaps(&table, Pace::FULL).await.unwrap();
        conformance::no_increment_is_lost(&table, Pace::FULL).await.unwrap();
    });
}

#[tokio::test(start_paused = true)]
async fn a_store_of_one_write_a_second_passes_at_its_pace() {
    let start = tokio::time::Instant::now();
    conformance::verify(&Limited::default(), Pace::ONE_WRITE_A_SECOND).await.unwrap();
    // On paused time: what the suite waits for in all, one property after another.
    assert!(start.elapsed() < Duration::from_mins(3), "{:?}", start.elapsed());
    let hasty = conformance::verify(&Limited::default(), Pace::FULL).await.unwrap_err();
    assert!(hasty.to_string().contains("needs a slower `Pace`"), "{hasty}");
}

#[tokio::test(start_paused = true)]
async fn instances_over_one_store_see_each_other() {
    let share = async |here: &MemoryLease, there: &MemoryLease| {
        conformance::two_instances_share_one_store(here, there, Pace::FULL).await
    };
    let table = MemoryLease::new();
    share(&table, &table.clone()).await.unwrap();
    share(&table, &MemoryLease::new()).await.unwrap_err();

    let scratch = Scratch::new().unwrap();
    let (here, there) = (FileLease::new(scratch.path()).unwrap(), FileLease::new(scratch.path()).unwrap());
    conformance::two_instances_share_one_store(&here, &there, Pace::FULL).await.unwrap();

    // Alone, an instance that remembers what it wrote itself is right.
    let here = Wrong::new(Fault::RemembersItsOwnWrites);
    conformance::verify(&here, Pace { writes: 3, ..Pace::FULL }).await.unwrap();
    let violation =
        conformance::two_instances_share_one_store(&here, &here.beside(), Pace::FULL).await.unwrap_err();
    assert_eq!(violation.property(), "two_instances_share_one_store");
}

#[tokio::test]
async fn what_is_not_a_record_is_never_free() {
    let lease = FileLease::scratch().unwrap();
    for (number, body) in ["", "7", "7\n", "7\n{}", "x\n{}", "\n", "{}"].into_iter().enumerate() {
        let key = Key::new(format!("leases/run-app-test-k{number}"), format!("app/test/k{number}"));
        fs::write(lease.place(&key), body).unwrap();
        conformance::a_foreign_body_is_corrupt(&lease, &key, Pace::FULL).await.unwrap();
        assert_eq!(fs::read_to_string(lease.place(&key)).unwrap(), body);
    }
    let absent = Key::new("leases/run-app-test-absent", "app/test/absent");
    let violation = conformance::a_foreign_body_is_corrupt(&lease, &absent, Pace::FULL).await.unwrap_err();
    assert_eq!(violation.property(), "a_foreign_body_is_corrupt");
    assert_eq!(lease.load(&absent).await.unwrap(), None);
}

#[tokio::test]
async fn an_error_of_the_store_is_not_held_against_it_but_ends_the_suite() {
    struct Down;
    impl LeaseBackend for Down {
        async fn load(&self, _: &Key) -> Result<Option<Stored>, BackendError> {
            Err(BackendError::new(ErrorKind::Unavailable, "connection refused"))
        }
        async fn swap(&self, _: &Key, _: Option<&Token>, _: &Record) -> Result<Swap, BackendError> {
            Err(BackendError::new(ErrorKind::UnknownOutcome, "connection closed").with_source("by the peer"))
        }
        async fn now(&self) -> Result<StoreTime, BackendError> {
            Err(BackendError::new(ErrorKind::Unavailable, "connection refused"))
        }
    }
    let violation = conformance::verify(&Down, Pace::FULL).await.unwrap_err();
    let text = violation.to_string();
    assert!(text.contains("failed as `UnknownOutcome`: connection closed"), "{text}");
    assert!(text.contains("proves nothing against the contract"), "{text}");
    assert_eq!(std::error::Error::source(&violation).unwrap().to_string(), "by the peer");
}

static IMPORT: Lock = lock!("import");

#[tokio::test]
async fn engines_over_one_directory_exclude_each_other() {
    let scratch = Scratch::new().unwrap();
    let engine = || {
        let lease = FileLease::new(scratch.path()).unwrap();
        Engine::builder(lease).on_callers_runtime().build().unwrap()
    };
    let (web_1, web_2) = (engine(), engine());
    let fence = IMPORT
        .run(&web_1.ctx(), async |ctx| {
            let rival = IMPORT.try_run(&web_2.ctx(), async |_| Ok::<_, LockError>(())).await?;
            assert!(rival.is_none(), "both engines ran");
            assert!(web_2.inspect("import").await?.is_some());
            Ok::<_, LockError>(ctx.fence().unwrap())
        })
        .await
        .unwrap();
    let next =
        IMPORT.try_run(&web_2.ctx(), async |ctx| Ok::<_, LockError>(ctx.fence().unwrap())).await.unwrap();
    assert!(next.unwrap() > fence);
}

const DIRECTORY: &str = "TAKO_TEST_DIRECTORY";
const STEPS: u64 = 25;

fn counter() -> Key {
    Key::new("leases/run-app-test-counter", "app/test/counter")
}

#[tokio::test]
async fn processes_over_one_directory_lose_no_increment() {
    let scratch = Scratch::new().unwrap();
    let lease = FileLease::new(scratch.path()).unwrap();
    let text = r#"{"owner":"test#1","expires":"1970-01-01T00:00:00Z","fence":0,"lock":"app/test/counter"}"#;
    let record = Record::from_json(text.as_bytes()).unwrap();
    assert!(matches!(lease.swap(&counter(), None, &record).await.unwrap(), Swap::Applied { .. }));

    let child = || {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "one_process_of_many", "--ignored"]).env(DIRECTORY, scratch.path());
        command.stdout(Stdio::null()).spawn().unwrap()
    };
    for mut child in [child(), child(), child()] {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(lease.load(&counter()).await.unwrap().unwrap().record.fence.get(), 3 * STEPS);
}

#[tokio::test]
#[ignore = "run by processes_over_one_directory_lose_no_increment"]
async fn one_process_of_many() {
    // Also run by whoever runs all ignored tests, for whom there is nothing to do.
    let Some(directory) = std::env::var_os(DIRECTORY) else { return };
    let lease = FileLease::new(directory).unwrap();
    for _ in 0..STEPS {
        loop {
            let Stored { mut record, token } = lease.load(&counter()).await.unwrap().unwrap();
            record.fence = Fence::new(record.fence.get() + 1);
            if let Swap::Applied { .. } = lease.swap(&counter(), Some(&token), &record).await.unwrap() {
                break;
            }
        }
    }
}
