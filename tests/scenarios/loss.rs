//! What a holder is told of a loss, and that it stays told.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use tako::backend::ErrorKind;
use tako::{CancelCause, Ctx, LockError, LossCause, Lost, policy};
use tako_lock_tests::faulty::{Fault, Verb, all_calls, beats, clock};
use tako_lock_tests::table::{Process, Table};
use tako_lock_tests::witness::Witness;
use tako_lock_tests::{LOCK, OTHER_LOCK, millis, secs};
use tokio::time::sleep;

const DEADLINE: std::time::Duration = policy::TTL.saturating_sub(policy::MARGIN);

/// A process whose store goes silent right after the grant.
fn cut_off(table: &Table) -> Process {
    let p1 = table.process("P1");
    p1.link.on(all_calls().since(millis(1)), Fault::Fails(ErrorKind::Unavailable));
    p1
}

fn assert_live(ctx: &Ctx, when: &str) {
    assert!(ctx.check().is_ok() && !ctx.is_cancelled() && ctx.cause().is_none(), "live {when}");
    assert!(ctx.fence().is_some(), "and with a fence {when}");
}

fn assert_lost(ctx: &Ctx, when: &str) {
    let check = ctx.check();
    assert!(matches!(check, Err(LockError::Lost(_))), "`check` says lost {when}: {check:?}");
    assert!(ctx.is_cancelled(), "`is_cancelled` agrees {when}");
    assert_eq!(ctx.fence(), None, "`fence` agrees {when}");
    assert_eq!(ctx.cause(), Some(CancelCause::Lost), "`cause` agrees {when}");
}

#[tokio::test(start_paused = true)]
async fn all_looks_agree_before_and_after_the_loss_and_it_latches() {
    let table = Table::new();
    let p1 = cut_off(&table);
    let outcome = LOCK
        .run(&p1.ctx(), async |ctx| {
            sleep(DEADLINE - millis(1)).await;
            assert_live(&ctx, "a millisecond before the deadline");
            sleep(millis(1)).await;
            assert_lost(&ctx, "at the deadline");
            p1.link.heal();
            for _ in 0..50 {
                sleep(secs(1)).await;
                assert_lost(&ctx, "however well the store is again");
            }
            ctx.cancelled().await;
            assert_eq!(ctx.until_cancelled(std::future::pending::<()>()).await, None, "work under it ends");
            Ok::<_, LockError>(())
        })
        .await;
    assert!(matches!(outcome, Err(LockError::Lost(_))), "the caller is told: {outcome:?}");
}

#[tokio::test(start_paused = true)]
async fn a_late_heartbeat_does_not_revive_and_nothing_follows_it() {
    let table = Table::new();
    let p1 = table.process("P1");
    p1.link.on(beats().between(secs(0), secs(27)), Fault::LandsLate(secs(2)));
    p1.link.on(beats().since(secs(27)), Fault::Slow { there: secs(2), back: millis(1) });
    // Answers of the first are lost and the second kind comes too late, though the record is extended each time.
    p1.link.on(all_calls().since(millis(1)), Fault::LostRequest);
    let outcome = LOCK
        .run(&p1.ctx(), async |ctx| {
            ctx.cancelled().await;
            let lost_at = table.now();
            assert!(lost_at <= DEADLINE, "told by the deadline, and not at {lost_at:?}");
            let requests = p1.link.writes();
            sleep(secs(60)).await;
            assert_lost(&ctx, "after the late landing");
            assert_eq!(p1.link.writes(), requests, "I9: no later beat of a lost hold is sent");
            Ok::<_, LockError>(())
        })
        .await;
    assert!(matches!(outcome, Err(LockError::Lost(_))), "the caller is told: {outcome:?}");
    assert_eq!(p1.link.count(&[Verb::Release]), 0, "I9: nor a release");
}

#[tokio::test(start_paused = true)]
async fn work_that_succeeded_after_the_loss_is_told_in_the_words_of_the_specification() {
    let table = Table::new();
    let p1 = cut_off(&table);
    let witness = Witness::new();
    let process = p1.clone();
    let run = LOCK.run(&process.ctx(), async |ctx| witness.work_deaf("P1", &ctx, secs(40)).await).await;
    let Err(error) = run else { panic!("never a success after a loss") };
    assert_eq!(
        error.to_string(),
        "lease \"reindex\" was lost while held (ttl expired or forcibly taken) \u{2014} work after the loss point may not have run",
        "to the letter"
    );
    let cause = error.source().expect("the cause is the source");
    let cause = cause.downcast_ref::<LossCause>().expect("in its own type");
    assert!(matches!(cause, LossCause::Expired { last_error: Some(_) }), "no heartbeat in time: {cause:?}");
    assert!(cause.source().is_some(), "and below it what the store said last");
    assert!(!error.to_string().contains(&cause.to_string()), "the cause is not repeated in the text");
    let LockError::Lost(lost) = &error else { panic!("a loss: {error:?}") };
    assert_eq!(lost.lock(), "reindex");
    assert_eq!(lost.fence(), witness.stays()[0].fence, "which hold it was");
    assert_eq!(lost.held_for(), DEADLINE, "how long it was good");
}

#[derive(Debug)]
enum WorkError {
    Own,
    Lock(LockError),
}

impl From<LockError> for WorkError {
    fn from(error: LockError) -> WorkError {
        WorkError::Lock(error)
    }
}

impl fmt::Display for WorkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("work failed")
    }
}

#[tokio::test(start_paused = true)]
async fn the_works_own_error_wins_over_the_loss() {
    for is_try in [false, true] {
        let table = Table::new();
        let p1 = cut_off(&table);
        let work = async |_: Ctx| -> Result<(), WorkError> {
            sleep(secs(40)).await;
            Err(WorkError::Own)
        };
        let ctx = p1.ctx();
        let outcome =
            if is_try { LOCK.try_run(&ctx, work).await.map(|_| ()) } else { LOCK.run(&ctx, work).await };
        assert!(matches!(outcome, Err(WorkError::Own)), "the work knows best why it failed: {outcome:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_success_after_the_loss_is_an_error_of_try_run_too() {
    let table = Table::new();
    let p1 = cut_off(&table);
    let work = async |_: Ctx| -> Result<(), WorkError> {
        sleep(secs(40)).await;
        Ok(())
    };
    let outcome = LOCK.try_run(&p1.ctx(), work).await;
    assert!(matches!(outcome, Err(WorkError::Lock(LockError::Lost(_)))), "{outcome:?}");
}

#[tokio::test(start_paused = true)]
async fn work_that_ends_just_before_the_deadline_is_a_success() {
    for (length, is_lost) in [(DEADLINE - millis(1), false), (DEADLINE, true)] {
        let table = Table::new();
        let p1 = cut_off(&table);
        let witness = Witness::new();
        let outcome = LOCK.run(&p1.ctx(), async |ctx| witness.work_deaf("P1", &ctx, length).await).await;
        assert_eq!(outcome.is_err(), is_lost, "the deadline itself is too late: {length:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_loss_of_an_outer_lock_reaches_the_inner_work() {
    let table = Table::new();
    let p1 = table.process("P1");
    let lost = Arc::new(std::sync::Mutex::new(None::<Lost>));
    let outcome = LOCK
        .run(&p1.ctx(), async |outer| {
            let inner = OTHER_LOCK
                .run(&outer, async |inner| {
                    sleep(secs(12)).await;
                    assert!(table.remove(), "the outer lock is broken by force");
                    inner.cancelled().await;
                    assert_eq!(inner.cause(), Some(CancelCause::Lost), "the inner context knows");
                    let Err(LockError::Lost(told)) = inner.check() else { panic!("a loss") };
                    assert_eq!(told.lock(), "reindex", "and which lock it was");
                    *lost.lock().unwrap() = Some(told);
                    Ok::<_, LockError>(())
                })
                .await;
            assert!(inner.is_ok(), "the inner lock itself was not lost: {inner:?}");
            inner
        })
        .await;
    assert!(matches!(outcome, Err(LockError::Lost(_))), "the outer one was: {outcome:?}");
    assert_eq!(p1.engine.inspect("rollup").await.unwrap(), None, "the inner one was given back");
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_hangs_does_not_hold_up_the_news_of_a_loss() {
    let table = Table::new();
    let p1 = table.process("P1");
    p1.link.never_dates();
    p1.link.on(clock().since(secs(15)), Fault::LostRequest);
    p1.link.on(beats().since(secs(15)), Fault::Fails(ErrorKind::Denied));
    let outcome = LOCK
        .run(&p1.ctx(), async |ctx| {
            ctx.until_cancelled(sleep(secs(200))).await;
            let told = table.now();
            assert!(
                told <= secs(10) + DEADLINE,
                "I4: told at the deadline of the last beat, and not at {told:?}"
            );
            ctx.check()
        })
        .await;
    assert!(matches!(outcome, Err(LockError::Lost(_))), "{outcome:?}");
}

#[tokio::test(start_paused = true)]
async fn a_process_that_slept_through_its_lease_is_told_of_no_error_that_was_none() {
    let table = Table::new();
    let p1 = table.process("P1");
    let outcome = LOCK
        .run(&p1.ctx(), async |ctx| {
            sleep(secs(15)).await;
            tokio::time::advance(secs(60)).await;
            ctx.check()
        })
        .await;
    let Err(LockError::Lost(lost)) = outcome else { panic!("I4: a loss is told, and not {outcome:?}") };
    assert!(
        matches!(lost.cause(), LossCause::Expired { last_error: None }),
        "the one heartbeat that was sent was well: {lost:?}"
    );
}
