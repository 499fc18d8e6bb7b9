//! What work does, and what is done about it: errors, panics, losses, shutdowns.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tako::cron::{CronConfig, Outcome, RunFault, Tick};
use tako::{CancelCause, Ctx, LockError};
use tako_lock_tests::faulty::{Fault, beats};
use tako_lock_tests::{millis, secs};
use tokio::time::sleep;

use crate::stage::{MINUTELY, Stage, key, singleflight, singleton};

fn all() -> [CronConfig; 3] {
    [CronConfig::default(), singleflight(), singleton()]
}

#[tokio::test(start_paused = true)]
async fn an_error_is_reported_with_its_tick_and_the_schedule_goes_on() {
    for config in all() {
        let stage = Stage::new().await;
        let config = CronConfig { observer: Some(stage.observer("P1")), ..config };
        let ctx = stage.table.process("P1").ctx();
        let (first, second) = (stage.tick(1), stage.tick(2));
        let running = tokio::spawn(async move {
            let work = async |_, tick: Tick| {
                if tick.scheduled == first { Err("the books do not balance") } else { Ok(()) }
            };
            MINUTELY.run(&ctx, config, work).await
        });
        sleep(secs(125)).await;
        let outcome = stage.outcome("P1", first);
        let Outcome::Ran { result: Err(RunFault::Failed(error)), .. } = &outcome else {
            panic!("{outcome:?}")
        };
        assert_eq!(&**error, "the books do not balance");
        assert!(matches!(stage.outcome("P1", second), Outcome::Ran { result: Ok(()), .. }));
        running.abort();
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_reported_gives_the_lease_back_and_the_schedule_goes_on() {
    for config in all() {
        let stage = Stage::new().await;
        let is_lasting = config.singleton;
        let config = CronConfig { observer: Some(stage.observer("P1")), ..config };
        let process = stage.table.process("P1");
        let ctx = process.ctx();
        let (first, second, third) = (stage.tick(1), stage.tick(2), stage.tick(3));
        let running = tokio::spawn(async move {
            // Once in the future, and once before there is one.
            let work = |_: Ctx, tick: Tick| {
                assert!(tick.scheduled != first, "before the first poll");
                async move {
                    sleep(secs(1)).await;
                    assert!(tick.scheduled != second, "in the middle");
                    Ok::<_, LockError>(())
                }
            };
            MINUTELY.run(&ctx, config, work).await
        });
        sleep(secs(125)).await;
        for (tick, what) in [(first, "before the first poll"), (second, "in the middle")] {
            let outcome = stage.outcome("P1", tick);
            let Outcome::Ran { result: Err(RunFault::Panicked(why)), .. } = &outcome else {
                panic!("{outcome:?}")
            };
            assert_eq!(&**why, what);
        }
        let is_free = stage.record().is_none_or(|record| record.is_released());
        assert_eq!(is_free, !is_lasting, "a singleton keeps its lease");
        sleep(secs(60)).await;
        assert!(matches!(stage.outcome("P1", third), Outcome::Ran { result: Ok(()), .. }));
        running.abort();
    }
}

#[tokio::test(start_paused = true)]
async fn work_whose_lease_is_lost_is_told_and_its_tick_runs_nowhere_else() {
    for config in [singleflight(), singleton()] {
        let stage = Stage::new().await;
        let p1 = stage.start("P1", 0, &config, secs(50));
        let tick = stage.tick(1);
        sleep(secs(62)).await;
        p1.process.link.on(beats(), Fault::LostRequest);
        stage.start("late", -30_000, &config, millis(50));
        sleep(secs(120)).await;
        let outcome = stage.outcome("P1", tick);
        let Outcome::Ran { result: Err(fault), tick: ran, took } = &outcome else { panic!("{outcome:?}") };
        assert!(ran.fence.is_some() && *took < secs(40), "told in time: {outcome:?}");
        assert!(matches!(fault, RunFault::Failed(_)), "the work's own error wins: {fault:?}");
        assert!(!matches!(stage.outcomes("late", tick)[..], [Outcome::Ran { .. }]));
    }
}

#[tokio::test(start_paused = true)]
async fn work_that_succeeds_after_its_lease_was_lost_did_not_succeed() {
    for config in [singleflight(), singleton()] {
        let stage = Stage::new().await;
        let process = stage.table.process("P1");
        let (ctx, tick) = (process.ctx(), stage.tick(1));
        let config = CronConfig { observer: Some(stage.observer("P1")), ..config };
        let running = tokio::spawn(async move {
            let deaf = async |_, _| {
                sleep(secs(55)).await;
                Ok::<_, LockError>(())
            };
            MINUTELY.run(&ctx, config, deaf).await
        });
        sleep(secs(62)).await;
        process.link.on(beats(), Fault::LostRequest);
        sleep(secs(60)).await;
        let outcome = stage.outcome("P1", tick);
        assert!(matches!(outcome, Outcome::Ran { result: Err(RunFault::Lost(_)), .. }), "{outcome:?}");
        running.abort();
    }
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_drains_the_running_work_under_its_lease() {
    for config in [singleflight(), singleton()] {
        let stage = Stage::new().await;
        let process = stage.table.process("P1");
        let (ctx, tick) = (process.ctx(), stage.tick(1));
        let config = CronConfig { observer: Some(stage.observer("P1")), ..config };
        let running = tokio::spawn(async move {
            let work = async |ctx: Ctx, _| {
                ctx.cancelled().await;
                assert_eq!(ctx.cause(), Some(CancelCause::Shutdown));
                assert!(ctx.fence().is_some(), "the lease is kept up meanwhile");
                sleep(secs(40)).await;
                assert!(ctx.fence().is_some(), "for longer than a lease");
                Ok::<_, LockError>(())
            };
            MINUTELY.run(&ctx, config, work).await
        });
        sleep(secs(65)).await;
        let shutdown = process.engine.shutdown(secs(60)).await;
        assert!(shutdown.is_clean(), "{shutdown:?}");
        assert!(running.await.unwrap().is_ok());
        assert!(matches!(stage.outcome("P1", tick), Outcome::Ran { result: Ok(()), .. }));
        let record = stage.record().expect("a record");
        assert!(record.is_released() && record.mark.is_some());
        let again = MINUTELY.run(&process.ctx(), singleflight(), async |_, _| Ok::<_, LockError>(())).await;
        assert!(again.is_ok(), "a closed engine starts nothing: {again:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_drops_the_work_and_gives_the_lease_back() {
    for config in [singleflight(), singleton()] {
        let stage = Stage::new().await;
        let (ended, tick) = (Arc::new(AtomicUsize::new(0)), stage.tick(1));
        let (seen, ctx) = (ended.clone(), stage.table.process("P1").ctx());
        let running = tokio::spawn(async move {
            let work = async |_, _| {
                sleep(secs(30)).await;
                seen.fetch_add(1, Ordering::Relaxed);
                Ok::<_, LockError>(())
            };
            MINUTELY.run(&ctx, config, work).await
        });
        sleep(secs(65)).await;
        running.abort();
        sleep(secs(30)).await;
        assert_eq!(ended.load(Ordering::Relaxed), 0);
        let record = stage.table.stored_at(&key()).expect("a record").record;
        assert!(record.is_released());
        assert_eq!(record.mark.map(std::time::SystemTime::from), Some(tick), "begun, so it stays claimed");
    }
}

/// A cron under its own lease would wait for itself, or find itself running.
#[tokio::test(start_paused = true)]
async fn a_cron_inside_its_own_run_is_refused_or_skipped() {
    let stage = Stage::new().await;
    let ctx = stage.table.process("P1").ctx();
    let outcomes = Arc::new(AtomicUsize::new(0));
    let seen = outcomes.clone();
    let running = tokio::spawn(async move {
        let work = async |ctx: Ctx, _| {
            let nested = MINUTELY.run(&ctx, singleton(), async |_, _| Ok::<_, LockError>(())).await;
            assert!(matches!(nested, Err(LockError::Reentrant { .. })), "{nested:?}");
            seen.fetch_add(1, Ordering::Relaxed);
            Ok::<_, LockError>(())
        };
        MINUTELY.run(&ctx, singleflight(), work).await
    });
    sleep(secs(61)).await;
    assert_eq!(outcomes.load(Ordering::Relaxed), 1);
    running.abort();
}
