//! Ends that are not returns: cancelled callers, dropped futures, panics.

use std::future::{Future, pending};
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tako::backend::{
    BackendError, ErrorKind, Key, LeaseBackend, MemoryLease, Record, StoreTime, Stored, Swap, Token,
};
use tako::{Ctx, Engine, LockError, policy};
use tako_lock_tests::faulty::{Fault, all_calls, claims, loads};
use tako_lock_tests::table::{Process, Table};
use tako_lock_tests::witness::Witness;
use tako_lock_tests::{LOCK, millis, secs};
use tokio::time::{sleep, timeout};

/// Everything of `process` has ended: the record is free, nothing is sent, and another process gets in at once.
async fn leaves_nothing(table: &Table, process: &Process, what: &str) {
    sleep(secs(6)).await;
    assert!(table.is_free(), "I7: the record is free again ({what})");
    let requests = process.link.requests().len();
    sleep(policy::TTL + policy::GUARD).await;
    assert_eq!(process.link.requests().len(), requests, "I9: nobody beats, nobody campaigns ({what})");
    let next = table.process("next").try_work(&Witness::new(), millis(1)).await;
    assert!(matches!(next, Ok(Some(_))), "I6: another process gets in ({what}): {next:?}");
    let again = process.try_work(&Witness::new(), millis(1)).await;
    assert!(matches!(again, Ok(Some(_))), "and so does this one ({what}): {again:?}");
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_caller_gives_back_at_once() {
    let table = Table::new();
    let p1 = table.process("P1");
    let ctx = p1.ctx();
    let outcome = LOCK
        .run(&ctx, async |inner| {
            ctx.cancel();
            inner.cancelled().await;
            assert!(matches!(inner.check(), Err(LockError::Cancelled(_))), "cancelled, and not lost");
            Ok::<_, LockError>(7)
        })
        .await;
    assert_eq!(outcome.expect("work that ended well did"), 7);
    assert!(table.is_free(), "the release does not run on the cancelled context");
    assert_eq!(table.now(), Duration::ZERO, "and takes one round trip");
}

#[tokio::test(start_paused = true)]
async fn a_grant_that_crosses_with_the_callers_end_is_given_back() {
    for (gives_up_after, is_dropped) in
        [(millis(500), false), (millis(500), true), (millis(1_500), false), (millis(1_500), true)]
    {
        let table = Table::new();
        let (p1, p2, witness) = (table.process("P1"), table.process("P2"), Witness::new());
        p1.link.on(claims(), Fault::Slow { there: secs(1), back: secs(1) });
        if is_dropped {
            let dropped = timeout(gives_up_after, p1.work(&witness, secs(1))).await;
            assert!(dropped.is_err(), "the replay: it was dropped on the way");
        } else {
            let ctx = p1.ctx().with_timeout(gives_up_after);
            let outcome = LOCK.run(&ctx, async |ctx| witness.work("P1", &ctx, secs(1)).await).await;
            assert!(matches!(outcome, Err(LockError::Cancelled(_))), "the caller is told: {outcome:?}");
            assert_eq!(table.now(), gives_up_after, "and does not wait for the settling");
        }
        timeout(secs(5), p2.work(&witness, secs(1)))
            .await
            .expect("I6: another process gets in as soon as the orphan has been given back")
            .expect("a hold");
        leaves_nothing(&table, &p1, "crossing").await;
        assert_eq!(witness.starts("P1"), 0, "no work is started for a caller that has gone");
    }
}

#[tokio::test(start_paused = true)]
async fn a_grant_that_cannot_be_read_back_is_never_kept_up() {
    let table = Table::new();
    let (p1, p2, witness) = (table.process("P1"), table.process("P2"), Witness::new());
    p1.link.on(claims().first(1), Fault::FailsOnceApplied(ErrorKind::Unavailable));
    p1.link.on(loads().after(1), Fault::Fails(ErrorKind::Denied));
    let outcome = p1.work(&witness, secs(1)).await;
    assert!(matches!(outcome, Err(LockError::Denied { .. })), "the error that ended it is told: {outcome:?}");
    p2.work(&witness, secs(1)).await.expect("I6: at worst after a lease");
    let bound = policy::TTL + policy::GUARD + policy::POLL * 5 / 4;
    assert!(witness.last_start("P2") <= bound, "at worst after a lease: {:?}", witness.last_start("P2"));
    assert_eq!(witness.starts("P1"), 0, "no work without a grant that is known");
}

#[tokio::test(start_paused = true)]
async fn a_panic_gives_back_and_goes_on_unchanged() {
    for after in [None, Some(Duration::ZERO), Some(secs(3)), Some(millis(10_000)), Some(secs(45))] {
        let table = Table::new();
        let p1 = table.process("P1");
        let process = p1.clone();
        let panicked = tokio::spawn(async move {
            let work = async |_: Ctx| -> Result<(), LockError> {
                if let Some(after) = after {
                    sleep(after).await;
                }
                std::panic::resume_unwind(Box::new("the work's own"));
            };
            LOCK.run(&process.ctx(), work).await
        });
        let payload = panicked.await.expect_err("the panic goes on").into_panic();
        assert_eq!(payload.downcast_ref::<&str>(), Some(&"the work's own"), "unchanged");
        leaves_nothing(&table, &p1, "a panic").await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_before_the_first_poll_gives_back() {
    let table = Table::new();
    let p1 = table.process("P1");
    let ctx = p1.ctx();
    let mut run = pin!(LOCK.run(&ctx, |_| -> std::future::Ready<Result<(), LockError>> {
        std::panic::resume_unwind(Box::new("no future at all"))
    }));
    let caught = std::future::poll_fn(|context| {
        match std::panic::catch_unwind(AssertUnwindSafe(|| run.as_mut().poll(context))) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(_)) => Poll::Ready(false),
            Err(_) => Poll::Ready(true),
        }
    });
    assert!(caught.await, "the panic came through");
    leaves_nothing(&table, &p1, "a panic of the closure itself").await;
}

/// How often the closure was entered, and whether it ended.
#[derive(Default)]
struct Trace {
    started: AtomicUsize,
    ended: AtomicUsize,
}

async fn traced(trace: &Trace, _ctx: Ctx) -> Result<(), LockError> {
    trace.started.fetch_add(1, Ordering::SeqCst);
    for _ in 0..4 {
        tokio::task::yield_now().await;
    }
    trace.ended.fetch_add(1, Ordering::SeqCst);
    Ok(())
}

/// Polls `work` at most `polls` times, letting all else run in between for `pause`; whether it ended.
async fn poll_and_drop<F: Future>(work: F, polls: usize, pause: Duration) -> bool {
    let mut work = pin!(work);
    for _ in 0..polls {
        if work.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready() {
            return true;
        }
        if pause.is_zero() {
            tokio::task::yield_now().await;
        } else {
            sleep(pause).await;
        }
    }
    false
}

/// Drops a call after each number of polls, until it gets to its end; how many points that were.
async fn drop_everywhere(
    is_try: bool,
    was_released: bool,
    pause: Duration,
    prepare: impl Fn(&Process),
) -> usize {
    for polls in 0.. {
        let table = Table::new();
        if was_released {
            table.process("before").work(&Witness::new(), millis(1)).await.expect("a first hold");
        }
        let p1 = table.process("P1");
        prepare(&p1);
        let (trace, ctx) = (Trace::default(), p1.ctx());
        let what =
            format!("dropped after {polls} polls, {pause:?} apart; try {is_try}, released {was_released}");
        let has_ended = if is_try {
            poll_and_drop(LOCK.try_run(&ctx, |ctx| traced(&trace, ctx)), polls, pause).await
        } else {
            poll_and_drop(LOCK.run(&ctx, |ctx| traced(&trace, ctx)), polls, pause).await
        };
        let (started, ended) = (trace.started.load(Ordering::SeqCst), trace.ended.load(Ordering::SeqCst));
        p1.link.heal();
        leaves_nothing(&table, &p1, &what).await;
        assert_eq!(
            (trace.started.load(Ordering::SeqCst), trace.ended.load(Ordering::SeqCst)),
            (started, ended),
            "no work of a dropped call runs later ({what})"
        );
        if has_ended {
            assert_eq!((started, ended), (1, 1), "a call that is not dropped runs its work once ({what})");
            return polls;
        }
        assert!(polls < 2_000, "the sweep gets to the end");
    }
    unreachable!("the loop returns")
}

#[tokio::test(start_paused = true)]
async fn dropping_a_call_at_any_await_leaves_nothing() {
    for is_try in [false, true] {
        for was_released in [false, true] {
            let points =
                drop_everywhere(is_try, was_released, Duration::ZERO, |p1| p1.link.gives_way()).await;
            assert!(points > 8, "the sweep has met the awaits of each request: {points}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn dropping_a_call_at_any_time_leaves_nothing() {
    let slow = |p1: &Process| p1.link.on(all_calls(), Fault::Slow { there: millis(5), back: millis(5) });
    for is_try in [false, true] {
        for was_released in [false, true] {
            let points = drop_everywhere(is_try, was_released, millis(2), slow).await;
            assert!(points > 20, "the sweep has met requests on their way there and back: {points}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn dropping_a_call_whose_claim_is_in_doubt_leaves_nothing() {
    for fault in [
        Fault::SentTwice,
        Fault::Conflict,
        Fault::FailsOnceApplied(ErrorKind::UnknownOutcome),
        Fault::FailsThenLands(ErrorKind::Unavailable, millis(30)),
        Fault::Fails(ErrorKind::Throttled),
    ] {
        for is_try in [false, true] {
            drop_everywhere(is_try, false, millis(150), |p1| {
                p1.link.gives_way();
                p1.link.on(claims().first(1), fault);
            })
            .await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_dropped_holder_is_followed_at_once() {
    let table = Table::new();
    let (p1, p2, witness) = (table.process("P1"), table.process("P2"), Witness::new());
    assert!(timeout(secs(17), p1.work(&witness, secs(900))).await.is_err(), "the replay: dropped while held");
    tokio::task::yield_now().await;
    let ran = p2.try_work(&witness, secs(1)).await.expect("no error");
    assert!(ran.is_some(), "I6: given back in the background");
}

/// Answers one write, and never another.
#[derive(Default)]
struct Hangs(MemoryLease, AtomicUsize);

impl LeaseBackend for Hangs {
    async fn load(&self, key: &Key) -> Result<Option<Stored>, BackendError> {
        self.0.load(key).await
    }

    async fn swap(&self, key: &Key, expected: Option<&Token>, record: &Record) -> Result<Swap, BackendError> {
        if self.1.fetch_add(1, Ordering::Relaxed) > 0 {
            return pending().await;
        }
        self.0.swap(key, expected, record).await
    }

    async fn now(&self) -> Result<StoreTime, BackendError> {
        self.0.now().await
    }
}

#[test]
fn an_engine_goes_although_its_runtime_ended_over_a_hold() {
    // Before the first heartbeat, and while that is on its way.
    for (seconds, writes) in [(1, 1), (11, 2)] {
        let store = Arc::new(Hangs::default());
        let engine = Engine::builder(store.clone()).on_callers_runtime().build().expect("an engine");
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime");
        let ctx = engine.ctx();
        let holder = async move { LOCK.run(&ctx, async |_| pending::<Result<(), LockError>>().await).await };
        drop(runtime.spawn(holder));
        runtime.block_on(async { sleep(secs(seconds)).await });
        assert_eq!(store.1.load(Ordering::Relaxed), writes, "the replay: held");
        drop((runtime, engine));
        assert_eq!(Arc::strong_count(&store), 1, "I7: nothing keeps the engine alive (after {seconds} s)");
    }
}
