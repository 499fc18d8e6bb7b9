//! Shutdown drains under the lease.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Waker};
use std::time::Duration;

use tako::{CancelCause, LockError, policy};
use tako_lock_tests::faulty::{Fault, Verb, all_calls, beats, claims, releases, writes};
use tako_lock_tests::table::Table;
use tako_lock_tests::witness::Witness;
use tako_lock_tests::{LOCK, OTHER_LOCK, millis, secs};
use tokio::time::{sleep, timeout};

#[tokio::test(start_paused = true)]
async fn the_lease_is_kept_up_while_its_work_drains() {
    let table = Table::new();
    let (p1, p2, witness) = (table.process("P1"), table.process("P2"), Witness::new());
    let (process, stay) = (p1.clone(), witness.clone());
    let holder = tokio::spawn(async move {
        LOCK.run(&process.ctx(), async |ctx| {
            stay.enter("P1", &ctx);
            ctx.cancelled().await;
            assert_eq!(ctx.cause(), Some(CancelCause::Shutdown), "the signal comes first, with its cause");
            sleep(secs(40)).await;
            assert!(ctx.fence().is_some(), "the lease is kept up until the work has ended");
            Ok::<_, LockError>(())
        })
        .await
    });
    sleep(millis(10)).await;
    let next = p2.start(&witness, secs(1));
    sleep(secs(5)).await;
    let signal = table.now();
    let shutdown = p1.engine.shutdown(secs(60)).await;
    assert!(shutdown.is_clean(), "everything was given back: {shutdown:?}");
    assert_eq!(table.now(), signal + secs(40), "it ends when the work has ended");
    let last = table.history_of("P1").pop().expect("a write");
    assert_eq!((last.verb, last.at), (Verb::Release, signal + secs(40)), "and not before the release");
    holder.await.unwrap().expect("no loss");
    next.await.unwrap().expect("a hold");
    assert!(witness.last_start("P2") >= signal + secs(40), "P2 starts only after");
    assert!(witness.last_start("P2") <= signal + secs(43), "I6: and within a poll");
}

#[tokio::test(start_paused = true)]
async fn work_that_outlasts_the_grace_is_left_to_lapse_and_never_released_early() {
    let table = Table::new();
    let (p1, p2, witness) = (table.process("P1"), table.process("P2"), Witness::new());
    let holder = p1.start_deaf(&witness, secs(300));
    sleep(millis(10)).await;
    let next = p2.start(&witness, secs(1));
    sleep(secs(5)).await;
    let shutdown = p1.engine.shutdown(secs(20)).await;
    assert_eq!(table.now(), secs(25) + millis(10), "the grace is kept");
    let left: Vec<_> = shutdown.left_to_lapse().iter().map(tako::LeftToLapse::lock).collect();
    assert_eq!(left, ["reindex"], "what was left is named");
    assert_eq!(shutdown.left_to_lapse()[0].fence(), witness.stays()[0].fence, "by its fence");
    assert_eq!(shutdown.left_to_lapse()[0].held_for(), table.now(), "and since when");
    let writes = p1.link.writes();
    next.await.unwrap().expect("P2 follows");
    let last = table.last_write_of(&table.history()[0].record.owner).unwrap();
    assert!(witness.last_start("P2") >= last + policy::TTL, "I1: only when the lease has lapsed");
    assert!(witness.last_start("P2") <= last + policy::TTL + secs(5), "I6: and then soon");
    let outcome = holder.await.unwrap();
    assert!(matches!(outcome, Err(LockError::Lost(_))), "I4: the late work's caller is told: {outcome:?}");
    assert_eq!(p1.link.writes(), writes, "I9: nothing was sent after the grace");
}

#[tokio::test(start_paused = true)]
async fn waiters_return_at_once_and_new_callers_are_refused() {
    let table = Table::new();
    let (p1, p2, witness) = (table.process("P1"), table.process("P2"), Witness::new());
    let elsewhere = p2.start(&witness, secs(30));
    sleep(millis(10)).await;
    // The first campaigns, the second stands behind it.
    let waiting = [p1.start(&witness, secs(1)), p1.start(&witness, secs(1))];
    sleep(secs(3)).await;
    let (at, shutdown) = (table.now(), p1.engine.shutdown(secs(10)).await);
    assert!(shutdown.is_clean(), "nothing was held");
    for waiter in waiting {
        let outcome = waiter.await.unwrap();
        assert!(matches!(outcome, Err(LockError::ShuttingDown { .. })), "told why: {outcome:?}");
    }
    assert_eq!(table.now(), at, "at once");
    let requests = p1.link.requests().len();
    let (ran, tried) = (p1.work(&witness, secs(1)).await, p1.try_work(&witness, secs(1)).await);
    assert!(matches!(ran, Err(LockError::ShuttingDown { .. })), "no new `run`: {ran:?}");
    assert!(matches!(tried, Err(LockError::ShuttingDown { .. })), "no new `try_run`: {tried:?}");
    assert_eq!(p1.link.requests().len(), requests, "and the store is not asked");
    assert_eq!(witness.starts("P1"), 0, "no waiter was started");
    elsewhere.await.unwrap().expect("other engines are untouched");
}

#[tokio::test(start_paused = true)]
async fn a_waiter_behind_a_holder_returns_while_the_holder_drains() {
    let table = Table::new();
    let (p1, witness) = (table.process("P1"), Witness::new());
    let holder = p1.start_deaf(&witness, secs(8));
    sleep(millis(10)).await;
    let waiter = p1.start(&witness, secs(1));
    sleep(secs(1)).await;
    let engine = p1.engine.clone();
    let shutdown = tokio::spawn(async move { engine.shutdown(secs(30)).await });
    let outcome = timeout(millis(1), waiter).await.expect("at once").unwrap();
    assert!(matches!(outcome, Err(LockError::ShuttingDown { .. })), "{outcome:?}");
    assert!(shutdown.await.unwrap().is_clean(), "the holder ended in time");
    holder.await.unwrap().expect("and was not lost");
    assert!(table.is_free(), "and has given back");
    assert_eq!(table.now(), secs(8), "as soon as it ended");
}

#[tokio::test(start_paused = true)]
async fn a_grant_that_arrives_during_shutdown_starts_nothing() {
    for (there, back) in [(millis(1_500), millis(10)), (millis(10), millis(1_500)), (secs(2), secs(40))] {
        for is_try in [false, true] {
            let table = Table::new();
            let (p1, witness) = (table.process("P1"), Witness::new());
            p1.link.on(claims().first(1), Fault::Slow { there, back });
            let (process, stay) = (p1.clone(), witness.clone());
            let caller = tokio::spawn(async move {
                if is_try {
                    process.try_work(&stay, secs(1)).await.map(|_| ())
                } else {
                    process.work(&stay, secs(1)).await.map(|_| ())
                }
            });
            sleep(secs(1)).await;
            let shutdown = p1.engine.shutdown(secs(60)).await;
            let outcome = caller.await.unwrap();
            assert!(matches!(outcome, Err(LockError::ShuttingDown { .. })), "told why: {outcome:?}");
            assert_eq!(witness.starts("P1"), 0, "a grant during the shutdown starts nothing");
            assert!(shutdown.is_clean() && table.is_free(), "what was won meanwhile has been given back");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_grant_in_the_very_moment_of_the_end_starts_nothing() {
    for is_shutdown in [true, false] {
        let table = Table::new();
        let (p1, witness) = (table.process("P1"), Witness::new());
        p1.link.on(claims(), Fault::Slow { there: secs(1), back: Duration::ZERO });
        let ctx = p1.ctx();
        let mut run = pin!(LOCK.run(&ctx, async |ctx| witness.work("P1", &ctx, secs(1)).await));
        // Polled until the claim is under way, and then not before the grant has come and the end with it.
        while p1.link.writes() == 0 {
            assert!(run.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
            tokio::task::yield_now().await;
        }
        sleep(secs(2)).await;
        assert!(!table.is_free(), "the replay: granted");
        let engine = p1.engine.clone();
        let ending = tokio::spawn(async move {
            if is_shutdown {
                let _ = engine.shutdown(secs(60)).await;
            }
        });
        tokio::task::yield_now().await;
        if !is_shutdown {
            ctx.cancel();
        }
        let outcome = run.await;
        let is_told = match &outcome {
            Err(LockError::ShuttingDown { .. }) => is_shutdown,
            Err(LockError::Cancelled(_)) => !is_shutdown,
            _ => false,
        };
        assert!(is_told, "told why, though the grant was there: {outcome:?}");
        ending.await.unwrap();
        sleep(secs(1)).await;
        assert_eq!(witness.starts("P1"), 0, "nothing is started any more");
        assert!(table.is_free(), "and the grant was given back");
    }
}

#[tokio::test(start_paused = true)]
async fn a_second_shutdown_waits_for_the_same() {
    let table = Table::new();
    let (p1, witness) = (table.process("P1"), Witness::new());
    let holder = p1.start_deaf(&witness, secs(20));
    sleep(secs(1)).await;
    let engine = p1.engine.clone();
    let first = tokio::spawn(async move { engine.shutdown(secs(60)).await });
    sleep(secs(1)).await;
    assert!(p1.engine.shutdown(secs(60)).await.is_clean(), "the second waits as well");
    assert_eq!(table.now(), secs(20), "until the work has ended");
    assert!(first.await.unwrap().is_clean(), "and so does the first");
    holder.await.unwrap().expect("no loss");
    assert!(p1.engine.shutdown(secs(60)).await.is_clean(), "a third has nothing to wait for");
    assert_eq!(table.now(), secs(20), "and does not wait");
}

#[tokio::test(start_paused = true)]
async fn a_dropped_shutdown_leaves_the_engine_closed_and_its_holders_told() {
    let table = Table::new();
    let (p1, witness) = (table.process("P1"), Witness::new());
    let holder = p1.start(&witness, secs(100));
    sleep(secs(1)).await;
    assert!(timeout(Duration::ZERO, p1.engine.shutdown(secs(60))).await.is_err() || table.is_free());
    let outcome = holder.await.unwrap();
    assert!(
        matches!(&outcome, Err(LockError::Cancelled(told)) if told.cause() == CancelCause::Shutdown),
        "the holder was told: {outcome:?}"
    );
    assert!(table.is_free(), "and has given back");
    assert!(p1.work(&witness, secs(1)).await.is_err(), "the engine stays closed");
}

#[tokio::test(start_paused = true)]
async fn every_lock_of_the_engine_drains() {
    let table = Table::new();
    let (p1, witness) = (table.process("P1"), Witness::new());
    let holder = p1.start(&witness, secs(100));
    let process = p1.clone();
    let other = tokio::spawn(async move {
        OTHER_LOCK
            .run(&process.ctx(), async |ctx| {
                ctx.cancelled().await;
                sleep(secs(15)).await;
                ctx.check()
            })
            .await
    });
    sleep(secs(1)).await;
    assert!(p1.engine.shutdown(secs(60)).await.is_clean(), "both have ended");
    assert_eq!(table.now(), secs(16), "the slower one was waited for");
    for outcome in [holder.await.unwrap().map(|_| ()), other.await.unwrap()] {
        assert!(matches!(outcome, Err(LockError::Cancelled(_))), "both were told: {outcome:?}");
    }
    assert_eq!(p1.engine.inspect("rollup").await.unwrap(), None, "both were given back");
    assert!(table.is_free(), "both were given back");
}

#[tokio::test(start_paused = true)]
async fn a_release_that_could_not_be_written_is_not_called_clean() {
    // With no heartbeat on its way, and with one.
    for (grace, begun) in [(secs(2), secs(1)), (secs(30), secs(1)), (secs(2), millis(10_500))] {
        let table = Table::new();
        let (p1, witness) = (table.process("P1"), Witness::new());
        p1.link.on(releases(), Fault::LostRequest);
        p1.link.on(beats(), Fault::LostRequest);
        let holder = p1.start(&witness, secs(100));
        sleep(begun).await;
        let shutdown = p1.engine.shutdown(grace).await;
        assert!(!table.is_free(), "the replay: the record still names the holder");
        let left: Vec<_> = shutdown.left_to_lapse().iter().map(tako::LeftToLapse::lock).collect();
        assert_eq!(
            left,
            ["reindex"],
            "what keeps others waiting until it has expired is named (grace {grace:?})"
        );
        drop(holder.await);
    }
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_was_settled_and_could_not_be_given_back_is_not_called_clean() {
    for grace in [secs(2), secs(60)] {
        let table = Table::new();
        let (p1, witness) = (table.process("P1"), Witness::new());
        p1.link.on(claims().first(1), Fault::LostReply);
        p1.link.on(releases(), Fault::LostRequest);
        let caller = p1.start(&witness, secs(1));
        sleep(secs(1)).await;
        let shutdown = p1.engine.shutdown(grace).await;
        assert!(!table.is_free(), "the replay: the claim landed, and its release did not");
        let left: Vec<_> = shutdown.left_to_lapse().iter().map(tako::LeftToLapse::lock).collect();
        assert_eq!(left, ["reindex"], "what keeps others waiting is named (grace {grace:?})");
        drop(caller.await);
    }
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_was_given_back_in_time_is_not_named() {
    let table = Table::new();
    let (p1, witness) = (table.process("P1"), Witness::new());
    p1.link.on(claims().first(1), Fault::LostReply);
    let caller = p1.start(&witness, secs(1));
    sleep(secs(1)).await;
    let shutdown = p1.engine.shutdown(secs(10)).await;
    assert!(table.is_free() && shutdown.is_clean(), "{shutdown:?}");
    drop(caller.await);
}

#[tokio::test(start_paused = true)]
async fn beats_go_on_during_the_grace_and_stop_after_it() {
    let table = Table::new();
    let (p1, witness) = (table.process("P1"), Witness::new());
    let holder = p1.start_deaf(&witness, secs(300));
    sleep(secs(1)).await;
    let _ = p1.engine.shutdown(secs(100)).await;
    let beats = p1.link.count(&[Verb::Beat]);
    assert!((9..=11).contains(&beats), "one every 10 s while it drains: {beats}");
    drop(holder.await);
    assert_eq!(p1.link.count(&[Verb::Beat]), beats, "and none after the grace");
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_after_the_grace_of_another_names_the_same() {
    let table = Table::new();
    let (p1, witness) = (table.process("P1"), Witness::new());
    let holder = p1.start_deaf(&witness, secs(300));
    sleep(secs(1)).await;
    let first = p1.engine.shutdown(secs(2)).await;
    let second = p1.engine.shutdown(secs(2)).await;
    assert!(!first.is_clean() && !second.is_clean(), "its code has not ended: {first:?}, then {second:?}");
    assert!(!table.is_free(), "the replay: the record still names it");
    drop(holder.await);
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_nobody_could_settle_is_not_called_clean() {
    let table = Table::new();
    let (p1, witness) = (table.process("P1"), Witness::new());
    p1.link.on(claims(), Fault::LostReply);
    let caller = p1.start(&witness, secs(1));
    sleep(secs(1)).await;
    let shutdown = p1.engine.shutdown(secs(10)).await;
    assert!(!table.is_free(), "the replay: the claim stands in the record, and nobody could give it back");
    assert!(
        !shutdown.is_clean(),
        "what keeps others waiting until it has expired is not clean: {shutdown:?}"
    );
    drop(caller.await);
}

#[tokio::test(start_paused = true)]
async fn what_has_lapsed_before_is_not_named() {
    let table = Table::new();
    let (p1, witness) = (table.process("P1"), Witness::new());
    // A claim that nobody could settle, and a hold that was lost to an outage while its code goes on.
    p1.link.on(writes().between(secs(0), secs(40)), Fault::LostRequest);
    p1.link.on(all_calls().since(secs(100)), Fault::LostRequest);
    let gave_up = timeout(secs(1), p1.work(&witness, secs(1))).await;
    assert!(gave_up.is_err(), "the replay: the claim hangs");
    sleep(secs(89)).await;
    let holder = p1.start_deaf(&witness, secs(300));
    sleep(secs(60)).await;
    assert!(!holder.is_finished(), "the replay: deaf to its loss");
    let shutdown = p1.engine.shutdown(secs(1)).await;
    assert_eq!(shutdown.left_to_lapse(), [], "it has expired: nobody waits for it");
    drop(holder.await);
}
