//! The service's limits, with several processes: one write a second of one object, and writes that come too late.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tako::Engine;
use tako::prelude::{Lock, lock};
use tako_lock_tests::gcs_double::{Bucket, Entry, Fault, Kind, log};
use tako_lock_tests::gcs_engine::{SHORT, engine};
use tako_lock_tests::gcs_server::DOUBLE;
use tokio::task::JoinSet;

use crate::storm::Room;

static LOCK: Lock = lock!("reindex");
const OBJECT: &str = "leases/run-gallery-test-reindex";

async fn process(name: &str, label: &str) -> Engine {
    engine(&DOUBLE.endpoint(), name, label, SHORT).await
}

/// Scenario 21.
#[tokio::test]
async fn twenty_windows_of_three_processes_pass_a_store_of_one_write_a_second() {
    let bucket = DOUBLE.bucket("limits-pace");
    // The pace of the service, and of the policy, at one scale.
    bucket.limit(SHORT.pace);
    let processes = [
        process("limits-pace", "P1").await,
        process("limits-pace", "P2").await,
        process("limits-pace", "P3").await,
    ];
    bucket.forget();
    let room = Arc::new(Room::default());
    let windows = (0..20).map(|number| {
        let (ctx, room) = (processes[number % 3].ctx(), room.clone());
        async move { LOCK.run(&ctx, async |ctx| room.visit(&ctx, Duration::from_millis(50)).await).await }
    });
    let windows: JoinSet<_> = windows.collect();
    // Throttled is "later": no error, no loss.
    for ended in windows.join_all().await {
        ended.expect("a window");
    }
    assert_eq!(room.visits(), 20);
    assert!(bucket.record(OBJECT).is_some_and(|record| record.is_released()));
    check_the_pace(&bucket.history());
}

fn check_the_pace(history: &[Entry]) {
    let count = |kind, status| {
        history.iter().filter(|entry| entry.kind == kind && entry.status == Some(status)).count()
    };
    // On a machine that is busy with other things a lease may be granted too late to be of use, and is given back.
    let (claimed, released) = (count(Kind::Claim, 200), count(Kind::Release, 200));
    assert!((20..=22).contains(&claimed) && claimed == released, "{}", log(history));
    assert!(count(Kind::Claim, 429) + count(Kind::Release, 429) > 0, "the limit was never met");
    // Waiting is reading: a claim is sent only where the record was seen free, so each window costs each of the other
    // two processes one lost race at most.
    let lost = count(Kind::Claim, 412);
    assert!(lost <= 2 * claimed, "{lost} claims were refused: campaigners poll by writing");
}

const WORK: Duration = Duration::from_millis(300);

/// Holds the lock in one process whose releases are all in trouble, with another one waiting; the bucket, and how long
/// after the end of the work that one got in.
async fn left_behind(name: &str, fault: Fault) -> (Bucket, Duration) {
    let bucket = DOUBLE.bucket(name);
    let (first, second) = (process(name, "P1").await, process(name, "P2").await);
    bucket.forget();
    let ended = Arc::new(Mutex::new(None));
    let (inside, is_inside) = tokio::sync::oneshot::channel();
    let ctx = first.ctx();
    let run = LOCK.run(&ctx, async |ctx| {
        bucket.on(Kind::Release, 0..usize::MAX, fault);
        _ = inside.send(());
        tokio::time::sleep(WORK).await;
        *ended.lock().unwrap() = Some(tokio::time::Instant::now());
        ctx.check()
    });
    let wait = async {
        is_inside.await.expect("the first one gets in");
        LOCK.run(&second.ctx(), async |ctx| {
            let waited =
                ended.lock().unwrap().expect("never before the first one's work has ended").elapsed();
            bucket.heal();
            // Long enough for whatever is late to come.
            ctx.until_cancelled(tokio::time::sleep(SHORT.ttl * 3 / 4)).await;
            ctx.check().map(|()| waited)
        })
        .await
    };
    let (ran, waited) = tokio::join!(run, wait);
    ran.expect("the caller of the first one is not told of its release");
    (bucket, waited.expect("the second one holds it undisturbed"))
}

/// Scenario 20.
#[tokio::test]
async fn a_release_that_never_comes_through_lets_the_next_one_in_when_the_lease_has_run_out() {
    let (bucket, waited) = left_behind("limits-503", Fault::Status(503, "backendError")).await;
    // Never before the first one would have given up by its own clock; its work goes off that.
    let least = SHORT.validity().saturating_sub(WORK);
    assert!(waited >= least, "it got in after {waited:?}, over a lease that had not run out");
    assert!(waited <= (SHORT.ttl + SHORT.guard + SHORT.poll) * 2, "it got in after {waited:?}");
    assert!(bucket.record(OBJECT).is_some_and(|record| record.is_released()));
}

/// Scenario 20.
#[tokio::test]
async fn a_throttled_release_is_sent_again_until_it_passes() {
    let bucket = DOUBLE.bucket("limits-release");
    let holder = process("limits-release", "P1").await;
    bucket.forget();
    bucket.on(Kind::Release, 0..2, Fault::Status(429, "rateLimitExceeded"));
    LOCK.run(&holder.ctx(), async |ctx| ctx.check()).await.unwrap();
    assert_eq!(bucket.counts().releases, 3);
    assert!(bucket.record(OBJECT).is_some_and(|record| record.is_released()));
}

/// Scenario 5.
#[tokio::test]
async fn releases_that_land_after_the_takeover_touch_nothing() {
    let late = SHORT.ttl + SHORT.guard + SHORT.poll * 2;
    let (bucket, _) = left_behind("limits-late", Fault::Late(late)).await;
    let history = bucket.history();
    let landed = history.iter().filter(|entry| entry.fault == Some(Fault::Late(late)));
    let statuses: Vec<_> = landed.map(|entry| entry.status).collect();
    assert!(statuses.len() >= 2 && statuses.iter().all(|status| *status == Some(412)), "{statuses:?}");
    let made = history.iter().filter(|entry| entry.made.is_some());
    let owners: Vec<_> = made.filter_map(|entry| Some(entry.record.as_ref()?.owner.to_string())).collect();
    let taken_over = owners.iter().position(|owner| owner.starts_with("P2#")).expect("a takeover");
    assert!(owners[taken_over..].iter().all(|owner| owner.starts_with("P2#")), "{owners:?}");
}
