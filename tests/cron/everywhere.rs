//! The default: every instance runs every tick.

use tako::cron::{CronConfig, Outcome};
use tako::prelude::{Cron, Lock, cron, lock};
use tako::{Ctx, Engine, LockError};
use tako_lock_tests::{millis, secs};
use tokio::time::sleep;

use crate::stage::{MINUTELY, Stage};

#[tokio::test(start_paused = true)]
async fn every_instance_runs_every_tick_and_no_lease_is_asked_for() {
    let stage = Stage::after(secs(5)).await;
    let instances = [("P1", 0), ("P2", 30_000), ("P3", -4_000)]
        .map(|(label, ahead)| stage.start(label, ahead, &CronConfig::default(), millis(50)));
    sleep(secs(300)).await;
    for label in ["P1", "P2", "P3"] {
        let ran = stage.starts().iter().filter(|(who, tick)| who == label && tick.fence.is_none()).count();
        assert_eq!(ran, 5, "{label}");
    }
    for instance in &instances {
        assert_eq!(instance.process.link.requests().len(), 0);
        assert_eq!(instance.host.tasks(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn an_instance_never_runs_beside_itself() {
    let stage = Stage::new().await;
    stage.start("P1", 0, &CronConfig::default(), secs(90));
    let second = stage.tick(2);
    sleep(secs(185)).await;
    assert_eq!(stage.starts().len(), 2);
    assert!(matches!(stage.outcome("P1", second), Outcome::Running { .. }));
}

/// There is no lease that a shutdown would drain: the work is told, and waited for, all the same.
#[tokio::test(start_paused = true)]
async fn a_shutdown_tells_the_work_and_waits_for_it() {
    let stage = Stage::new().await;
    let deaf = CronConfig { observer: Some(stage.observer("P1")), ..CronConfig::default() };
    let process = stage.table.process("P1");
    let ctx = process.ctx();
    let running = tokio::spawn(async move {
        let work = async |ctx: Ctx, _tick| {
            ctx.cancelled().await;
            sleep(secs(3)).await;
            Ok::<_, LockError>(())
        };
        MINUTELY.run(&ctx, deaf, work).await
    });
    let tick = stage.tick(1);
    sleep(secs(61)).await;
    let begun = tokio::time::Instant::now();
    assert!(process.engine.shutdown(secs(10)).await.is_clean());
    assert_eq!(begun.elapsed(), secs(3));
    assert!(running.await.unwrap().is_ok());
    assert!(matches!(stage.outcome("P1", tick), Outcome::Ran { result: Ok(()), .. }));
}

#[tokio::test(start_paused = true)]
async fn both_at_once_are_refused_with_a_reason() {
    let both = CronConfig { singleflight: true, singleton: true, ..CronConfig::default() };
    let ctx = Engine::memory().ctx().with_timeout(secs(600));
    let refused = MINUTELY.run(&ctx, both, async |_, _| Ok::<_, LockError>(())).await;
    let Err(error @ LockError::Config(_)) = refused else { panic!("{refused:?}") };
    let text = error.to_string();
    for part in ["\"minutely\"", "singleflight", "singleton", "Choose one"] {
        assert!(text.contains(part), "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn one_name_with_two_schedules_is_refused_and_says_where_the_other_is() {
    static NOON: Cron = cron!("midday", "0 12 * * *");
    static ONE: Cron = cron!("midday", "0 13 * * *");
    static IN_BERLIN: Cron = cron!("evening", "0 20 * * *", "Europe/Berlin");
    static IN_UTC: Cron = cron!("evening", "0 20 * * *");
    static FIRST: Cron = cron!("morning", "0 8 * * *");
    static SAME: Cron = cron!("morning", "0 8 * * *");
    static LOCK: Lock = lock!("morning");
    let ctx = Engine::memory().ctx().with_timeout(secs(600));
    let run =
        async |cron: &Cron| cron.run(&ctx, CronConfig::default(), async |_, _| Ok::<_, LockError>(())).await;
    for cron in [&NOON, &ONE, &IN_BERLIN, &IN_UTC] {
        let Err(error @ LockError::Config(_)) = run(cron).await else { panic!("{cron:?} was not refused") };
        let text = error.to_string();
        for part in [cron.name(), cron.schedule(), cron.zone(), file!(), "another name"] {
            assert!(text.contains(part), "{text}");
        }
    }
    for cron in [&FIRST, &SAME] {
        assert!(run(cron).await.is_ok(), "the same cron twice, and {} is another thing", LOCK.name());
    }
}

#[tokio::test(start_paused = true)]
async fn a_context_that_has_ended_runs_nothing() {
    for config in [CronConfig::default(), crate::stage::singleflight(), crate::stage::singleton()] {
        let ctx = Engine::memory().ctx();
        ctx.cancel();
        let work = async |_, _| -> Result<(), LockError> { panic!("not to be started") };
        assert!(MINUTELY.run(&ctx, config, work).await.is_ok());
    }
}

/// On an engine in memory, where tokio's paused time is the host's wall clock as well: how users test their crons.
#[tokio::test(start_paused = true)]
async fn paused_time_drives_a_cron_in_memory() {
    for config in [CronConfig::default(), crate::stage::singleflight(), crate::stage::singleton()] {
        let engine = Engine::memory();
        let ctx = engine.ctx().with_timeout(secs(600));
        let ran = std::sync::atomic::AtomicUsize::new(0);
        let work = async |_, _| {
            ran.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            Ok::<_, LockError>(())
        };
        MINUTELY.run(&ctx, config, work).await.expect("to the end of its context");
        let ran = ran.into_inner();
        assert!((9..=11).contains(&ran), "{ran}");
    }
}
