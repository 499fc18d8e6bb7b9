//! Contexts: limits, cancelling, and what they say of a hold.

use std::future::{Future, pending};
use std::task::Poll;
use std::time::Duration;

use tako::{CancelCause, LockError};
use tako_lock_tests::table::Table;
use tako_lock_tests::witness::Witness;
use tako_lock_tests::{LOCK, millis, secs};
use tokio::time::sleep;

#[tokio::test(start_paused = true)]
async fn the_nearest_limit_counts_however_they_are_nested() {
    for (outer, inner) in [(2, 9), (9, 2), (2, 2)] {
        let table = Table::new();
        let ctx = table.process("P1").ctx().with_timeout(secs(outer)).child().with_timeout(secs(inner));
        ctx.cancelled().await;
        assert_eq!(table.now(), secs(2), "{outer} s outside, {inner} s inside");
        assert_eq!(ctx.cause(), Some(CancelCause::TimedOut));
        assert!(ctx.is_cancelled() && ctx.check().is_err(), "all looks agree");
        assert!(ctx.child().is_cancelled(), "a child of what has ended has ended");
    }
}

#[tokio::test(start_paused = true)]
async fn cancelling_goes_down_and_not_up() {
    let table = Table::new();
    let parent = table.process("P1").ctx();
    let (one, two) = (parent.child(), parent.with_timeout(secs(60)));
    let below = one.child();
    one.cancel();
    assert!(below.is_cancelled() && one.is_cancelled(), "down");
    assert!(!parent.is_cancelled() && !two.is_cancelled(), "not up, not aside");
    assert_eq!(below.cause(), Some(CancelCause::Cancelled));
    parent.cancel();
    assert!(two.is_cancelled(), "down");
    one.cancel();
    assert_eq!(table.now(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_context_without_a_hold_has_no_fence_and_no_end() {
    let ctx = Table::new().process("P1").ctx();
    assert_eq!(ctx.fence(), None);
    assert_eq!(ctx.cause(), None);
    assert!(ctx.check().is_ok());
    assert_eq!(ctx.until_cancelled(sleep(secs(9_000))).await, Some(()), "it never ends by itself");
}

#[tokio::test(start_paused = true)]
async fn work_under_a_limit_is_told_and_the_lease_given_back() {
    let table = Table::new();
    let (p1, witness) = (table.process("P1"), Witness::new());
    let ctx = p1.ctx().with_timeout(secs(15));
    let outcome = LOCK.run(&ctx, async |ctx| witness.work("P1", &ctx, secs(100)).await).await;
    let Err(LockError::Cancelled(told)) = &outcome else { panic!("cancelled: {outcome:?}") };
    assert_eq!(told.cause(), CancelCause::TimedOut);
    assert_eq!((told.lock(), told.waited()), (Some("reindex"), None), "nothing was being waited for");
    assert_eq!(table.now(), secs(15), "at its limit");
    assert!(table.is_free(), "given back, and not lost");
}

#[tokio::test(start_paused = true)]
async fn a_limit_set_inside_of_the_work_is_its_own() {
    let table = Table::new();
    let p1 = table.process("P1");
    let outcome = LOCK
        .run(&p1.ctx(), async |ctx| {
            let limited = ctx.with_timeout(secs(3));
            assert_eq!(limited.until_cancelled(pending::<()>()).await, None, "cut off");
            assert_eq!(limited.fence(), ctx.fence(), "a child shows its parent's hold");
            assert_eq!(limited.cause(), Some(CancelCause::TimedOut));
            ctx.check()
        })
        .await;
    outcome.expect("the hold is untouched");
}

#[tokio::test(start_paused = true)]
async fn a_waiter_at_its_limit_is_told_for_how_long_and_for_whom_it_waited() {
    let table = Table::new();
    let (p1, p2, witness) = (table.process("P1"), table.process("P2"), Witness::new());
    let holder = p1.start(&witness, secs(60));
    sleep(millis(10)).await;
    // The head of the queue, and one behind it.
    let mut waiters = Vec::new();
    for _ in 0..2 {
        let (process, stay) = (p2.clone(), witness.clone());
        waiters.push(tokio::spawn(async move {
            let ctx = process.ctx().with_timeout(secs(7));
            LOCK.run(&ctx, async |ctx| stay.work("P2", &ctx, secs(1)).await).await
        }));
    }
    for waiter in waiters {
        let outcome = waiter.await.unwrap();
        let Err(LockError::Cancelled(told)) = &outcome else { panic!("cancelled: {outcome:?}") };
        assert_eq!(told.cause(), CancelCause::TimedOut);
        assert_eq!(told.lock(), Some("reindex"));
        assert_eq!(told.waited(), Some(secs(7)));
        assert_eq!(told.held_by().map(tako::Owner::label), Some("P1"), "who has it");
    }
    holder.await.unwrap().expect("untouched");
    assert_eq!(witness.starts("P2"), 0, "nothing ran");
}

#[tokio::test(start_paused = true)]
async fn a_context_that_has_ended_takes_nothing_and_asks_nothing() {
    let table = Table::new();
    let p1 = table.process("P1");
    let cancelled = p1.ctx();
    cancelled.cancel();
    for ctx in [cancelled, p1.ctx().with_timeout(Duration::ZERO)] {
        let ran = LOCK.run(&ctx, async |_| Ok::<_, LockError>(())).await;
        assert!(matches!(ran, Err(LockError::Cancelled(_))), "{ran:?}");
        let tried = LOCK.try_run(&ctx, async |_| Ok::<_, LockError>(())).await;
        assert!(matches!(tried, Err(LockError::Cancelled(_))), "{tried:?}");
    }
    assert_eq!(p1.link.requests().len(), 0, "the store is not asked");
}

#[tokio::test(start_paused = true)]
async fn the_context_of_an_ended_hold_says_released() {
    let table = Table::new();
    let p1 = table.process("P1");
    let (outer, inner) = (p1.ctx(), LOCK.run(&p1.ctx(), async |ctx| Ok::<_, LockError>(ctx)).await.unwrap());
    assert_eq!(inner.cause(), Some(CancelCause::Released));
    assert_eq!(inner.fence(), None, "a hold that is over has no fence to show");
    assert!(
        inner.is_cancelled() && inner.child().is_cancelled() && inner.check().is_err(),
        "all looks agree"
    );
    inner.cancelled().await;
    sleep(secs(100)).await;
    assert_eq!(inner.cause(), Some(CancelCause::Released), "and it never turns into a loss");
    assert!(!outer.is_cancelled(), "the caller's own goes on");
}

#[tokio::test(start_paused = true)]
async fn each_hold_shows_a_higher_fence() {
    let table = Table::new();
    let (p1, p2) = (table.process("P1"), table.process("P2"));
    let mut last = None;
    for round in 0..20 {
        let process = if round % 2 == 0 { &p1 } else { &p2 };
        let fence = LOCK.run(&process.ctx(), async |ctx| Ok::<_, LockError>(ctx.fence())).await.unwrap();
        assert!(fence.is_some() && fence > last, "I2: {fence:?} after {last:?}");
        last = fence;
    }
}

#[tokio::test(start_paused = true)]
async fn a_limit_without_end_is_one() {
    let table = Table::new();
    let (p1, witness) = (table.process("P1"), Witness::new());
    let ctx = p1.ctx().with_timeout(Duration::MAX).with_timeout(Duration::MAX);
    let outcome = LOCK.run(&ctx, async |ctx| witness.work("P1", &ctx, secs(3_600)).await).await;
    outcome.expect("as long as it takes");
    assert!(p1.engine.shutdown(Duration::MAX).await.is_clean(), "nor does a grace without end");
}

#[test]
fn a_call_outside_of_any_runtime_says_so() {
    let engine = tako::Engine::memory();
    let ctx = engine.ctx();
    let mut run = std::pin::pin!(LOCK.run(&ctx, async |_| Ok::<_, LockError>(())));
    let polled = run.as_mut().poll(&mut std::task::Context::from_waker(std::task::Waker::noop()));
    assert!(
        matches!(polled, Poll::Ready(Err(LockError::Config(_)))),
        "an error, and neither panic nor hang: {polled:?}"
    );
}
