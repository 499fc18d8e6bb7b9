//! One instance runs the schedule, on the store's clock; another takes over.

use tako::cron::Outcome;
use tako::{StoreTime, policy};
use tako_lock_tests::faulty::{Fault, beats};
use tako_lock_tests::{millis, secs};
use tokio::time::sleep;

use crate::stage::{Stage, key, singleton};

#[tokio::test(start_paused = true)]
async fn one_instance_runs_all_ticks_whatever_the_hosts_clocks_show() {
    let stage = Stage::new().await;
    for (label, ahead) in [("P1", 7_200_000), ("P2", -30_000), ("P3", 0)] {
        stage.start(label, ahead, &singleton(), millis(50));
        sleep(secs(1)).await;
    }
    let first = stage.tick(1);
    sleep(secs(300)).await;
    let starts = stage.starts();
    assert_eq!(starts.len(), 5);
    assert!(starts.iter().all(|(who, _)| who == "P1"), "{starts:?}");
    let Outcome::Ran { tick, .. } = stage.outcome("P1", first) else { panic!("{:?}", stage.reports()) };
    assert!(tick.late < secs(1), "at its time by the store's clock: {tick:?}");
}

#[tokio::test(start_paused = true)]
async fn no_tick_begins_before_the_stores_clock_has_reached_it() {
    let stage = Stage::new().await;
    let p1 = stage.start("P1", 0, &singleton(), millis(50));
    p1.process.link.on(beats(), Fault::Slow { there: millis(700), back: millis(100) });
    let table = stage.table.clone();
    for _ in 0..3_100 {
        sleep(millis(100)).await;
        if let Some((_, tick)) = stage.starts().last() {
            assert!(StoreTime::from(tick.scheduled) <= table.time(), "{tick:?}");
        }
    }
    assert_eq!(stage.starts().len(), 5);
}

#[tokio::test(start_paused = true)]
async fn a_crash_is_followed_by_another_and_what_was_missed_is_told() {
    let stage = Stage::new().await;
    let p1 = stage.start("P1", 0, &singleton(), millis(50));
    sleep(secs(1)).await;
    stage.start("P2", -20_000, &singleton(), millis(50));
    let [first, second, third, fourth] = [1, 2, 3, 4].map(|minutes| stage.tick(minutes));
    sleep(secs(100)).await;
    p1.crash();
    sleep(secs(150)).await;
    assert_eq!(stage.runner(first).as_deref(), Some("P1"));
    // Its lease ran out some 30 s after its last heartbeat: the second tick came before that.
    assert_eq!(stage.runner(second), None);
    let outcome = stage.outcome("P2", second);
    assert!(matches!(outcome, Outcome::Missed { last, ticks: 1 } if last == second), "{outcome:?}");
    for tick in [third, fourth] {
        assert_eq!(stage.runner(tick).as_deref(), Some("P2"));
    }
}

/// It begins a tick, and is gone before a heartbeat could carry the mark.
#[tokio::test(start_paused = true)]
async fn a_tick_that_was_begun_just_before_the_end_is_not_begun_again() {
    for take_over in [false, true] {
        let stage = Stage::new().await;
        let p1 = stage.start("P1", 0, &singleton(), secs(5));
        sleep(secs(1)).await;
        // Its own clock would have it run the tick anew.
        stage.start("P2", -40_000, &singleton(), millis(50));
        let (tick, next) = (stage.tick(1), stage.tick(2));
        sleep(millis(59_900)).await;
        assert_eq!(stage.runner(tick).as_deref(), Some("P1"));
        assert_ne!(stage.mark(), Some(tick), "no heartbeat since");
        p1.crash();
        if take_over {
            // An operator frees the lease at once.
            let record = stage.record().expect("a record");
            stage.table.put_at(&key(), &tako::backend::Record { expires: StoreTime::RELEASED, ..record });
        }
        sleep(secs(100)).await;
        assert_eq!(stage.runner(next).as_deref(), Some("P2"));
        assert_eq!(stage.starts().len(), 2, "{:?}", stage.starts());
    }
}

/// A heartbeat that left before the tick says nothing of it; its answer must not take the mark back.
#[tokio::test(start_paused = true)]
async fn a_heartbeat_on_its_way_does_not_take_the_mark_back() {
    for phase in 0..12 {
        let stage = Stage::after(secs(phase)).await;
        let p1 = stage.start("P1", 0, &singleton(), millis(50));
        p1.process.link.on(beats(), Fault::Slow { there: millis(10), back: secs(2) });
        let tick = stage.tick(1);
        sleep(secs(63 - phase)).await;
        assert_eq!(stage.starts().len(), 1);
        assert!(p1.process.engine.shutdown(secs(5)).await.is_clean());
        assert_eq!(stage.mark(), Some(tick), "phase {phase}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_hands_over_at_once_and_nothing_is_missed() {
    let stage = Stage::new().await;
    let p1 = stage.start("P1", 0, &singleton(), millis(50));
    sleep(secs(1)).await;
    stage.start("P2", 0, &singleton(), millis(50));
    let ticks = [1, 2, 3, 4].map(|minutes| stage.tick(minutes));
    sleep(secs(130)).await;
    assert!(p1.process.engine.shutdown(secs(5)).await.is_clean());
    assert!(matches!(p1.task.await, Ok(Ok(()))));
    sleep(secs(120)).await;
    let runners = ticks.map(|tick| stage.runner(tick));
    assert_eq!(runners.map(Option::unwrap_or_default), ["P1", "P1", "P2", "P2"]);
    let is_missed = |outcome: &Outcome| matches!(outcome, Outcome::Missed { .. });
    assert!(!stage.reports().iter().any(|(_, report)| is_missed(&report.outcome)), "{:?}", stage.reports());
}

#[tokio::test(start_paused = true)]
async fn a_holder_that_was_stopped_goes_on_as_a_candidate() {
    let stage = Stage::new().await;
    let p1 = stage.start("P1", 0, &singleton(), millis(50));
    sleep(secs(1)).await;
    let p2 = stage.start("P2", 0, &singleton(), millis(50));
    sleep(secs(70)).await;
    p1.host.suspend();
    sleep(secs(180)).await;
    p1.host.resume();
    sleep(secs(120)).await;
    let late: Vec<_> = stage.starts().into_iter().skip(2).collect();
    assert!(late.len() >= 3 && late.iter().all(|(who, _)| who == "P2"), "{late:?}");
    p2.crash();
    sleep(secs(60) + policy::TTL + policy::GUARD + policy::POLL).await;
    assert_eq!(stage.starts().last().map(|(who, _)| who.as_str()), Some("P1"));
}

/// Ticks skipped because of a long run are dealt with: a successor does not report them again.
#[tokio::test(start_paused = true)]
async fn a_run_that_outlives_its_next_tick_skips_it() {
    let stage = Stage::new().await;
    let p1 = stage.start("P1", 0, &singleton(), secs(90));
    let [first, second, third] = [1, 2, 3].map(|minutes| stage.tick(minutes));
    sleep(secs(160)).await;
    assert!(matches!(stage.outcome("P1", first), Outcome::Ran { .. }));
    assert!(matches!(stage.outcome("P1", second), Outcome::Running { .. }));
    assert!(p1.process.engine.shutdown(secs(5)).await.is_clean());
    assert_eq!(stage.mark(), Some(second));
    stage.start("P2", 0, &singleton(), millis(50));
    sleep(secs(60)).await;
    assert_eq!(stage.runner(third).as_deref(), Some("P2"));
    assert_eq!(stage.reports().iter().filter(|(who, _)| who == "P2").count(), 1);
}

/// The mark is nothing that it needs: one that a hand put into the future does not stop it.
#[tokio::test(start_paused = true)]
async fn a_mark_in_the_far_future_does_not_stop_it() {
    let stage = Stage::new().await;
    let (name, expires) = (key().lock().clone(), StoreTime::RELEASED);
    let far = tako::backend::Record {
        lock: name,
        mark: Some(StoreTime::MAX),
        ..tako_lock_tests::record("x#1", expires, 7)
    };
    stage.table.put_at(&key(), &far);
    stage.start("P1", 0, &singleton(), millis(50));
    sleep(secs(125)).await;
    assert_eq!(stage.starts().len(), 2, "{:?}", stage.reports());
}

/// Which form is used may change with a deployment: the mark and the lease are the same.
#[tokio::test(start_paused = true)]
async fn singleton_and_singleflight_do_not_run_the_same_tick() {
    let stage = Stage::new().await;
    stage.start("one", 0, &singleton(), millis(50));
    sleep(secs(1)).await;
    let other = stage.start("other", 500, &crate::stage::singleflight(), millis(50));
    sleep(secs(300)).await;
    assert!(stage.starts().iter().all(|(who, _)| who == "one"));
    assert!(stage.starts().len() == 5 && !other.task.is_finished());
}
