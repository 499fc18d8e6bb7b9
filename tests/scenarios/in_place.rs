//! The engine whose store answers in place, and real threads: the promises are the same.

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::task::{Context, Waker};
use std::time::Duration;

use tako::backend::MemoryLease;
use tako::{Ctx, Engine, Fence, LockError};
use tako_lock_tests::faulty::{Fault, beats};
use tako_lock_tests::table::Table;
use tako_lock_tests::witness::Witness;
use tako_lock_tests::{LOCK, millis, secs};
use tokio::runtime::Builder;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

async fn is_free(engine: &Engine) -> bool {
    engine.inspect("reindex").await.expect("memory answers").is_none()
}

#[tokio::test(start_paused = true)]
async fn local_callers_of_a_memory_engine_are_served_in_order_and_at_once() {
    let (engine, witness) = (Engine::memory(), Witness::new());
    let mut tasks = Vec::new();
    for number in 0..20 {
        let (engine, stay) = (engine.clone(), witness.clone());
        tasks.push(tokio::spawn(async move {
            let who = format!("{number:02}");
            LOCK.run(&engine.ctx(), async |ctx| stay.work(&who, &ctx, secs(20)).await).await
        }));
        tokio::task::yield_now().await;
    }
    for task in tasks {
        task.await.unwrap().expect("a turn for each, and no loss");
    }
    let order: Vec<_> = witness.stays().into_iter().map(|stay| stay.who).collect();
    assert!(order.is_sorted(), "in order of arrival: {order:?}");
    assert_eq!(witness.stays()[19].from, secs(380), "handed over without a pause");
}

#[tokio::test(start_paused = true)]
async fn dropping_a_call_to_a_memory_engine_leaves_nothing() {
    for is_try in [false, true] {
        for polls in 0..8 {
            let engine = Engine::memory();
            let (ctx, ended) = (engine.ctx(), AtomicBool::new(false));
            let work = async |_: Ctx| {
                for _ in 0..3 {
                    tokio::task::yield_now().await;
                }
                ended.store(true, Ordering::SeqCst);
                Ok::<_, LockError>(())
            };
            let mut was_ready = false;
            {
                let call = async {
                    if is_try {
                        LOCK.try_run(&ctx, work).await.map(|_| ())
                    } else {
                        LOCK.run(&ctx, work).await
                    }
                };
                let mut call = pin!(call);
                for _ in 0..polls {
                    if call.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready() {
                        was_ready = true;
                        break;
                    }
                    assert!(!is_free(&engine).await, "the replay: held at the first poll");
                }
            }
            assert!(is_free(&engine).await, "I7: free in the very moment of the drop, after {polls} polls");
            assert_eq!(ended.load(Ordering::SeqCst), was_ready, "no work of a dropped call runs on");
            let next = LOCK.try_run(&engine.ctx(), async |_| Ok::<_, LockError>(())).await;
            assert!(matches!(next, Ok(Some(()))), "I6: and the next one gets it: {next:?}");
        }
    }
}

#[test]
fn a_future_that_outlives_its_runtime_gives_back_where_it_is_dropped() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let engine = Engine::memory();
    let ctx = engine.ctx();
    let mut work = Box::pin(LOCK.run(&ctx, async |_| {
        std::future::pending::<()>().await;
        Ok::<_, LockError>(())
    }));
    let first = runtime();
    first.block_on(async { assert!(timeout(millis(5), work.as_mut()).await.is_err(), "the replay: held") });
    drop(first);
    drop(work);
    assert!(runtime().block_on(is_free(&engine)), "I7: given back without a runtime");
}

#[test]
fn a_hold_that_outlives_its_runtime_is_kept_up_on_the_next() {
    let runtime = || Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    // Between two heartbeats, and while one is on its way.
    for moved_at in [secs(5), millis(10_500)] {
        let first = runtime();
        let (table, p1) = first.block_on(async {
            let table = Table::new();
            let p1 = table.process("P1");
            (table, p1)
        });
        p1.link.on(beats().first(1), Fault::LostRequest);
        let (ctx, moved) = (p1.ctx(), Notify::new());
        let mut work = Box::pin(LOCK.run(&ctx, async |ctx| {
            moved.notified().await;
            sleep(secs(65)).await;
            ctx.check()
        }));
        first
            .block_on(async { assert!(timeout(moved_at, work.as_mut()).await.is_err(), "the replay: held") });
        drop(first);
        moved.notify_one();
        runtime().block_on(work).expect("I5: kept up on the runtime where its work goes on");
        drop(table);
    }
}

#[tokio::test(start_paused = true)]
async fn a_memory_engine_shuts_down_like_any() {
    let (engine, witness) = (Engine::memory(), Witness::new());
    let (process, stay) = (engine.clone(), witness.clone());
    let holder = tokio::spawn(async move {
        LOCK.run(&process.ctx(), async |ctx| stay.work_deaf("holder", &ctx, secs(45)).await).await
    });
    sleep(millis(10)).await;
    let (process, stay) = (engine.clone(), witness.clone());
    let waiter = tokio::spawn(async move {
        LOCK.run(&process.ctx(), async |ctx| stay.work("waiter", &ctx, secs(1)).await).await
    });
    sleep(secs(1)).await;
    let shutdown = engine.shutdown(secs(60)).await;
    assert!(shutdown.is_clean() && is_free(&engine).await, "drained, and given back");
    assert!(matches!(waiter.await.unwrap(), Err(LockError::ShuttingDown { .. })), "waiters return");
    holder.await.unwrap().expect("kept up for 45 s while it drained");
    assert_eq!(witness.starts("waiter"), 0, "no waiter was started");
}

/// Counts under the lock from many real threads; the fences that were seen, in order.
async fn count_in_parallel(engines: &[Engine], tasks: usize, rounds: usize) -> Vec<Fence> {
    static INSIDE: AtomicU32 = AtomicU32::new(0);
    let fences = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let mut all = Vec::new();
    for number in 0..tasks {
        let (engine, fences) = (engines[number % engines.len()].clone(), fences.clone());
        all.push(tokio::spawn(async move {
            let mut ran = 0;
            while ran < rounds {
                let work = async |ctx: Ctx| {
                    assert_eq!(INSIDE.fetch_add(1, Ordering::SeqCst), 0, "I1: nobody else is inside");
                    fences.lock().unwrap().push(ctx.fence().expect("live"));
                    tokio::task::yield_now().await;
                    assert_eq!(INSIDE.fetch_sub(1, Ordering::SeqCst), 1, "I1: nobody else came in");
                    Ok::<_, LockError>(())
                };
                if number % 3 == 0 {
                    // Impatient: gives up at some point of the call, and comes again.
                    let limit =
                        Duration::from_micros(20 + 37 * u64::try_from(number + ran).unwrap_or(0) % 400);
                    let ctx = engine.ctx().with_timeout(limit);
                    match LOCK.run(&ctx, work).await {
                        Ok(()) | Err(LockError::Cancelled(_)) => ran += 1,
                        Err(error) => panic!("no other error: {error}"),
                    }
                } else {
                    LOCK.run(&engine.ctx(), work).await.expect("a turn");
                    ran += 1;
                }
            }
        }));
    }
    for task in all {
        timeout(secs(20), task).await.expect("I6: a turn for each").expect("no panic");
    }
    let fences = fences.lock().unwrap();
    fences.clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn real_threads_never_meet_inside() {
    let table = MemoryLease::new();
    let own_thread = Engine::builder(table.clone()).build().unwrap();
    let ambient = Engine::builder(table).on_callers_runtime().build().unwrap();
    for engine in [Engine::memory(), ambient, own_thread] {
        let fences = count_in_parallel(std::slice::from_ref(&engine), 12, 100).await;
        assert!(fences.is_sorted_by(|one, next| one < next), "I2: fences grow in the order of the work");
        let shutdown = engine.shutdown(secs(5)).await;
        assert!(shutdown.is_clean(), "I7: nothing is left: {shutdown:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn holds_of_one_engine_do_not_delay_each_other() {
    use tako_lock_tests::OTHER_LOCK;
    use tako_lock_tests::faulty::{Fault, beats};
    let table = Table::new();
    let (p1, witness) = (table.process("P1"), Witness::new());
    // The first heartbeat of either hangs; the other lock's go on all the same.
    p1.link.on(beats().first(1), Fault::LostRequest);
    let process = p1.clone();
    let other = tokio::spawn(async move {
        OTHER_LOCK
            .run(&process.ctx(), async |ctx| {
                ctx.until_cancelled(sleep(secs(100))).await;
                ctx.check()
            })
            .await
    });
    p1.work(&witness, secs(100)).await.expect("I5: kept up");
    other.await.unwrap().expect("I5: kept up");
    let beats = p1.link.requests().into_iter().filter(|request| request.at.as_secs() == 10).count();
    assert_eq!(beats, 2, "both were sent when they were due, though the first of them hung");
}
