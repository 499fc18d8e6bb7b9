//! Many new processes at once, and what each does first: asks for the store's time, and tests the store.

use std::time::Duration;

use tako::prelude::{Lock, lock};
use tako::{Check, Engine, LockError, Verdict};
use tako_lock_tests::gcs_double::{Bucket, Counts, Generations};
use tako_lock_tests::gcs_engine::{SHORT, engine};
use tako_lock_tests::gcs_server::DOUBLE;
use tokio::task::JoinSet;

static LOCK: Lock = lock!("reindex");

async fn processes(name: &str, number: usize) -> (Bucket, Vec<Engine>) {
    let bucket = DOUBLE.bucket(name);
    let process = |number: usize| {
        let name = name.to_owned();
        async move { engine(&DOUBLE.endpoint(), &name, &format!("web-{number}"), SHORT).await }
    };
    let engines = (0..number).map(process).collect::<JoinSet<_>>().join_all().await;
    bucket.forget();
    (bucket, engines)
}

/// All processes of an environment ask for the time at one object, which takes one write a second.
#[tokio::test]
async fn a_crowd_of_new_processes_meets_no_error_at_a_lock_that_nobody_had_yet() {
    let (bucket, engines) = processes("crowd-try", 12).await;
    bucket.limit(SHORT.pace);
    let attempts = engines.into_iter().map(async |engine: Engine| {
        let work = async |_| {
            tokio::time::sleep(SHORT.ttl / 4).await;
            Ok::<_, LockError>(())
        };
        LOCK.try_run(&engine.ctx(), work).await
    });
    let mut ran = 0;
    for ended in attempts.collect::<JoinSet<_>>().join_all().await {
        ran += usize::from(ended.expect("collapsed, or ran").is_some());
    }
    assert!(ran >= 1, "nobody ran");
    let Counts { clocks, .. } = bucket.counts();
    assert!(clocks >= 2, "nobody else asked for the time");
}

#[tokio::test]
async fn a_crowd_of_new_processes_gets_in_one_after_another() {
    let (bucket, engines) = processes("crowd-run", 8).await;
    bucket.limit(SHORT.pace);
    let windows = engines.into_iter().map(async |engine: Engine| {
        LOCK.run(&engine.ctx(), async |ctx| ctx.check().map(|()| ctx.fence())).await
    });
    let mut fences = windows.collect::<JoinSet<_>>().join_all().await;
    fences.sort_by_key(|fence| fence.as_ref().ok().copied().flatten());
    fences.dedup_by_key(|fence| fence.as_ref().expect("a window").expect("a live lease"));
    assert_eq!(fences.len(), 8, "each had a fence of its own");
}

async fn check(name: &str, arrange: impl Fn(&Bucket)) -> Check {
    let (bucket, engines) = processes(name, 1).await;
    arrange(&bucket);
    engines[0].check().await
}

#[tokio::test]
async fn the_self_test_finds_a_store_fit_whatever_its_pace_its_generations_and_its_clock() {
    let check = check("check-fit", |bucket| {
        bucket.limit(SHORT.pace);
        bucket.generations(Generations::Down);
        bucket.set_clock_ahead(-3_600_000);
    });
    let check = check.await;
    assert_eq!(check.verdict(), Verdict::Fit, "{check}");
    let offset = check.clock_offset().expect("the store has told its time").millis;
    assert!((-3_610_000..-3_590_000).contains(&offset), "{check}");
}

#[tokio::test]
async fn the_self_test_tells_what_makes_a_store_unfit() {
    assert_unfit(&check("check-retention", Bucket::retain).await, "retention policy");
    assert_unfit(&check("check-bucket", Bucket::close).await, "there is no bucket `check-bucket`");
    assert_unfit(&check("check-careless", Bucket::neglect).await, "does not compare and swap");
}

fn assert_unfit(check: &Check, told: &str) {
    assert_eq!(check.verdict(), Verdict::Unfit, "{check}");
    assert!(check.to_string().contains(told), "{check}");
}

#[tokio::test]
async fn many_self_tests_at_once_find_the_store_fit_or_cannot_tell() {
    let (bucket, engines) = processes("check-crowd", 5).await;
    bucket.limit(SHORT.pace);
    let checks = engines.into_iter().map(async |engine: Engine| engine.check().await);
    let checks = checks.collect::<JoinSet<_>>();
    let checks = tokio::time::timeout(Duration::from_mins(1), checks.join_all()).await.expect("an end");
    for check in checks {
        // What others write to the probe is never taken for a fault of the store.
        assert_ne!(check.verdict(), Verdict::Unfit, "{check}");
    }
}
