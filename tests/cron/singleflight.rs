//! Each tick runs at most once, however the instances' clocks stand, and never beside an earlier run.

use tako::LockError;
use tako::backend::ErrorKind;
use tako::cron::Outcome;
use tako_lock_tests::faulty::{Fault, Verb, all_calls, claims, clock, loads};
use tako_lock_tests::table::Write;
use tako_lock_tests::{millis, secs};
use tokio::time::sleep;

use crate::stage::{Stage, singleflight};

/// Scenario 38: each replica comes when the run of the one before is over, and finds the lease free.
#[tokio::test(start_paused = true)]
async fn a_short_job_runs_once_a_tick_although_replicas_tick_seconds_apart() {
    let stage = Stage::after(secs(5)).await;
    for (label, behind) in [("P1", 0), ("P2", 400), ("P3", 2_000), ("P4", 3_000)] {
        stage.start(label, -behind, &singleflight(), millis(50));
    }
    let ticks: Vec<_> = (1..=5).map(|minutes| stage.tick(minutes)).collect();
    sleep(secs(305)).await;
    assert_eq!(stage.starts().len(), 5);
    for tick in ticks {
        assert_eq!(stage.runner(tick).as_deref(), Some("P1"), "the first to come");
        for label in ["P2", "P3", "P4"] {
            let outcome = stage.outcome(label, tick);
            let Outcome::Claimed { by: Some(by), mark } = outcome else { panic!("{label}: {outcome:?}") };
            assert_eq!((by.label(), mark), ("P1", tick), "done by whom, visibly");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_tick_at_the_boundary_of_the_next_period_is_claimed_before_its_successor() {
    let stage = Stage::after(secs(5)).await;
    stage.start("right", 0, &singleflight(), millis(50));
    sleep(secs(60)).await;
    stage.start("late", -59_999, &singleflight(), millis(50));
    let (first, second) = (stage.tick(1), stage.tick(2));
    sleep(secs(190)).await;
    for tick in [first, second] {
        assert_eq!(stage.runner(tick).as_deref(), Some("right"));
        assert!(matches!(stage.outcome("late", tick), Outcome::Claimed { .. }));
    }
}

#[tokio::test(start_paused = true)]
async fn two_that_come_in_the_same_instant_are_told_apart_by_the_swap() {
    let stage = Stage::new().await;
    for label in ["P1", "P2", "P3"] {
        let instance = stage.start(label, 0, &singleflight(), millis(50));
        instance.process.link.gives_way();
    }
    sleep(secs(605)).await;
    assert_eq!(stage.starts().len(), 10);
}

/// A run that outlives its next tick.
#[tokio::test(start_paused = true)]
async fn a_tick_that_finds_an_earlier_run_going_on_is_skipped_by_all() {
    let stage = Stage::after(secs(5)).await;
    stage.start("P1", 0, &singleflight(), secs(70));
    stage.start("P2", -500, &singleflight(), secs(70));
    let (first, second, third) = (stage.tick(1), stage.tick(2), stage.tick(3));
    sleep(secs(205)).await;
    assert_eq!(stage.runner(first).as_deref(), Some("P1"));
    assert_eq!(stage.runner(second), None);
    assert_eq!(stage.runner(third).as_deref(), Some("P1"));
    for label in ["P1", "P2"] {
        let outcome = stage.outcome(label, second);
        let Outcome::Running { by: Some(by) } = outcome else { panic!("{label}: {outcome:?}") };
        assert_eq!(by.label(), "P1");
    }
}

#[tokio::test(start_paused = true)]
async fn two_calls_in_one_process_are_two_replicas() {
    let stage = Stage::new().await;
    let host = stage.host("P1", 0);
    let first = stage.start_on(host, "P1", &singleflight(), secs(70));
    let config = tako::cron::CronConfig { observer: Some(stage.observer("P1 again")), ..singleflight() };
    let (ctx, again) = (first.process.ctx(), stage.clone());
    let second = tokio::spawn(async move {
        let work = async |ctx, tick| again.work("P1 again", &ctx, tick, secs(70)).await;
        crate::stage::MINUTELY.run(&ctx, config, work).await
    });
    let ticks = [stage.tick(1), stage.tick(2)];
    sleep(secs(185)).await;
    assert_eq!(stage.starts().len(), 2, "every other tick: {:?}", stage.starts());
    let (winner, other) = match stage.runner(ticks[0]).as_deref() {
        Some("P1") => ("P1", "P1 again"),
        _ => ("P1 again", "P1"),
    };
    assert!(matches!(stage.outcome(winner, ticks[0]), Outcome::Ran { .. }));
    assert!(!matches!(stage.outcome(other, ticks[0]), Outcome::Ran { .. }));
    assert!(matches!(stage.outcome(winner, ticks[1]), Outcome::Running { .. }));
    assert!(!second.is_finished());
}

#[tokio::test(start_paused = true)]
async fn what_was_missed_while_all_were_down_is_not_made_up() {
    let stage = Stage::new().await;
    let first = stage.start("P1", 0, &singleflight(), millis(50));
    sleep(secs(65)).await;
    first.crash();
    sleep(secs(600)).await;
    stage.start("P2", 0, &singleflight(), millis(50));
    let next = stage.tick(1);
    sleep(secs(60)).await;
    assert_eq!(stage.starts().len(), 2, "{:?}", stage.starts());
    assert_eq!(stage.runner(next).as_deref(), Some("P2"));
}

#[tokio::test(start_paused = true)]
async fn a_claimed_tick_of_a_crashed_instance_stays_claimed() {
    let stage = Stage::after(secs(50)).await;
    let first = stage.start("P1", 0, &singleflight(), secs(20));
    stage.start("late", -45_000, &singleflight(), millis(50));
    let (tick, next) = (stage.tick(1), stage.tick(2));
    sleep(secs(11)).await;
    first.crash();
    sleep(secs(170)).await;
    assert!(matches!(stage.outcome("late", tick), Outcome::Claimed { .. }), "begun once, by P1");
    assert_eq!(stage.runner(next).as_deref(), Some("late"));
}

/// The store is failing when the tick comes: it is asked until the next tick comes, and no longer.
#[tokio::test(start_paused = true)]
async fn a_tick_outlasts_a_failing_store_but_not_its_successor() {
    let stage = Stage::new().await;
    let p1 = stage.start("P1", 0, &singleflight(), millis(50));
    let now = stage.table.now();
    let (first, second, third) = (stage.tick(1), stage.tick(2), stage.tick(3));
    p1.process
        .link
        .on(all_calls().between(now + secs(59), now + secs(90)), Fault::Fails(ErrorKind::Unavailable));
    p1.process.link.on(all_calls().between(now + secs(119), now + secs(181)), Fault::LostRequest);
    sleep(secs(240)).await;
    let Outcome::Ran { tick, .. } = stage.outcome("P1", first) else { panic!("{:?}", stage.reports()) };
    assert!((secs(30)..secs(40)).contains(&tick.late), "it says how late: {tick:?}");
    let outcome = stage.outcome("P1", second);
    assert!(
        matches!(outcome, Outcome::Unclaimed { error: LockError::Unavailable { .. } }),
        "the store never said: {outcome:?}"
    );
    assert!(matches!(stage.outcome("P1", third), Outcome::Ran { .. }));
}

/// The answer of the claim is lost: it is settled as every claim is, and the tick runs, once.
#[tokio::test(start_paused = true)]
async fn a_claim_whose_answer_was_lost_is_settled() {
    for fault in [Fault::LostReply, Fault::FailsOnceApplied(ErrorKind::Unavailable), Fault::SentTwice] {
        let stage = Stage::after(secs(5)).await;
        let p1 = stage.start("P1", 0, &singleflight(), millis(50));
        stage.start("P2", -1_000, &singleflight(), millis(50));
        p1.process.link.on(claims().first(1), fault);
        let tick = stage.tick(1);
        sleep(secs(90)).await;
        assert_eq!(stage.runner(tick).as_deref(), Some("P1"), "{fault:?}: {:?}", stage.reports());
        assert!(!matches!(stage.outcome("P2", tick), Outcome::Ran { .. }));
    }
}

/// Won too late to be of use: given back unrun, with the mark that stood there before, so that another may have it.
#[tokio::test(start_paused = true)]
async fn a_tick_that_was_claimed_too_late_and_not_begun_is_given_back() {
    let stage = Stage::after(secs(5)).await;
    let p1 = stage.start("P1", 0, &singleflight(), millis(50));
    let before = stage.tick(1);
    sleep(secs(57)).await;
    let (tick, now) = (stage.tick(1), stage.table.now());
    assert_eq!(stage.mark(), Some(before));
    // The claim lands at once; whatever is asked after that is not answered for longer than a lease is good for.
    p1.process.link.on(claims().first(1), Fault::LostReply);
    p1.process
        .link
        .on(all_calls().between(now + secs(58), now + secs(83)), Fault::Fails(ErrorKind::Unavailable));
    stage.start("late", -40_000, &singleflight(), millis(50));
    sleep(secs(59)).await;
    assert_eq!(stage.mark(), Some(tick), "claimed");
    sleep(secs(59)).await;
    let given_back =
        |write: &&Write| write.verb == Verb::Release && write.record.mark.map(Into::into) == Some(before);
    let history = stage.table.history();
    assert_eq!(history.iter().filter(given_back).count(), 2, "after the tick before, and unrun: {history:?}");
    assert_eq!(stage.starts().iter().filter(|(_, ran)| ran.scheduled == tick).count(), 1);
    assert_eq!(stage.mark(), Some(tick));
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_is_dropped_on_its_way_gives_the_tick_back() {
    let stage = Stage::after(secs(30)).await;
    let p1 = stage.start("P1", 0, &singleflight(), millis(50));
    stage.start("late", -20_000, &singleflight(), millis(50));
    let tick = stage.tick(1);
    p1.process.link.on(claims().first(1), Fault::Slow { there: millis(10), back: secs(2) });
    sleep(millis(30_500)).await;
    assert_eq!(stage.mark(), Some(tick), "landed, and not yet answered");
    p1.ctx.cancel();
    sleep(secs(5)).await;
    assert_eq!(stage.mark(), None, "as it was before: nothing was begun");
    sleep(secs(20)).await;
    assert_eq!(stage.runner(tick).as_deref(), Some("late"));
}

/// The host is stopped while the claim is answered, and then the context ends: it finds both when it goes on.
#[tokio::test(start_paused = true)]
async fn a_grant_whose_context_has_ended_meanwhile_is_not_begun_and_gives_the_tick_back() {
    let stage = Stage::after(secs(30)).await;
    let p1 = stage.start("P1", 0, &singleflight(), secs(5));
    let tick = stage.tick(1);
    p1.process.link.on(claims().first(1), Fault::Slow { there: millis(10), back: millis(900) });
    sleep(millis(30_500)).await;
    p1.host.suspend();
    sleep(secs(1)).await;
    assert_eq!(stage.mark(), Some(tick));
    p1.ctx.cancel();
    sleep(millis(100)).await;
    p1.host.resume();
    sleep(secs(5)).await;
    assert_eq!((stage.starts().len(), stage.mark()), (0, None));
}

/// The answer and the end of the context, at every distance from each other.
#[tokio::test(start_paused = true)]
async fn a_grant_that_crosses_with_the_end_of_its_context_gives_the_tick_back() {
    for micros in (900_000..=920_000).step_by(500) {
        let stage = Stage::after(secs(30)).await;
        let p1 = stage.start("P1", 0, &singleflight(), secs(5));
        let tick = stage.tick(1);
        p1.process.link.on(claims().first(1), Fault::Slow { there: millis(10), back: millis(900) });
        sleep(secs(30) + std::time::Duration::from_micros(micros)).await;
        p1.ctx.cancel();
        sleep(secs(10)).await;
        let is_begun = stage.runner(tick).is_some();
        assert_eq!(stage.mark(), is_begun.then_some(tick), "{micros} \u{b5}s after the tick");
        assert!(stage.record().is_some_and(|record| record.is_released()));
    }
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_crosses_with_a_shutdown_gives_the_tick_back() {
    let stage = Stage::after(secs(30)).await;
    let p1 = stage.start("P1", 0, &singleflight(), millis(50));
    stage.start("late", -20_000, &singleflight(), millis(50));
    let tick = stage.tick(1);
    p1.process.link.on(claims().first(1), Fault::Slow { there: millis(10), back: millis(900) });
    sleep(millis(30_500)).await;
    assert!(p1.process.engine.shutdown(secs(10)).await.is_clean());
    assert_eq!(stage.mark(), None);
    sleep(secs(20)).await;
    assert_eq!(stage.runner(tick).as_deref(), Some("late"));
    assert!(matches!(p1.task.await, Ok(Ok(()))), "a shutdown is an ordinary end");
}

/// Without the store's time nobody can tell whether a tick lies in the future.
#[tokio::test(start_paused = true)]
async fn no_tick_is_claimed_while_the_stores_time_is_unknown() {
    let stage = Stage::new().await;
    let p1 = stage.start("P1", 0, &singleflight(), millis(50));
    p1.process.link.on(clock(), Fault::Fails(ErrorKind::Unavailable));
    let tick = stage.tick(1);
    sleep(secs(130)).await;
    assert!(matches!(stage.outcome("P1", tick), Outcome::Unclaimed { .. }), "{:?}", stage.reports());
    assert_eq!((stage.starts().len(), stage.mark()), (0, None));
    p1.process.link.heal();
    sleep(secs(60)).await;
    assert!(!stage.starts().is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_the_store_refuses_is_told_at_once_and_the_schedule_goes_on() {
    let stage = Stage::new().await;
    let p1 = stage.start("P1", 0, &singleflight(), millis(50));
    let (first, second) = (stage.tick(1), stage.tick(2));
    p1.process.link.on(loads().first(1), Fault::Fails(ErrorKind::Denied));
    sleep(secs(61)).await;
    let outcome = stage.outcome("P1", first);
    assert!(matches!(outcome, Outcome::Unclaimed { error: LockError::Denied { .. } }), "{outcome:?}");
    sleep(secs(60)).await;
    assert!(matches!(stage.outcome("P1", second), Outcome::Ran { .. }));
}
