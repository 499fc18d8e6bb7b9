//! Work that blocks its runtime, in real time, under a policy that is shortened for it.

use tako::simulation::Policy;
use tako::{Ctx, Engine, LockError};
use tako_lock_tests::faulty::Verb;
use tako_lock_tests::table::{Process, Table};
use tako_lock_tests::{LOCK, OTHER_LOCK, millis};
use tokio::runtime::{Builder, Runtime};

const SHORT: Policy = Policy {
    ttl: millis(2_400),
    heartbeat: millis(700),
    poll: millis(100),
    attempt: millis(250),
    margin: millis(150),
    guard: millis(250),
    pace: millis(50),
    retry: millis(30),
    release: millis(500),
    useful: millis(300),
};

fn process(table: &Table, label: &str, has_own_thread: bool) -> Process {
    let link = table.link(label);
    let builder = Engine::builder(link.clone()).label(label).under_policy(SHORT);
    let builder = if has_own_thread { builder.on_own_thread() } else { builder.on_callers_runtime() };
    Process { label: label.into(), link, engine: builder.build().expect("an engine") }
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().expect("a runtime")
}

/// Blocks the runtime that it runs on for two leases, while somebody else tries once in the middle.
fn block(has_own_thread: bool) -> (Table, Process, Result<Option<()>, LockError>, Result<(), LockError>) {
    assert!(SHORT.is_sound(), "shortened, but in proportion");
    let table = runtime().block_on(async { Table::new() });
    let (p1, p2) = (process(&table, "P1", has_own_thread), process(&table, "P2", true));
    let rival = std::thread::spawn(move || {
        std::thread::sleep(SHORT.ttl * 3 / 2);
        runtime().block_on(LOCK.try_run(&p2.ctx(), async |_| Ok::<_, LockError>(())))
    });
    let held = runtime().block_on(LOCK.run(&p1.ctx(), async |_| {
        std::thread::sleep(SHORT.ttl * 2);
        Ok::<_, LockError>(())
    }));
    (table, p1, rival.join().expect("no panic"), held)
}

#[test]
fn work_that_blocks_its_runtime_keeps_the_lease_of_an_engine_on_its_own_thread() {
    let (table, p1, rival, held) = block(true);
    held.expect("I5: heartbeats do not run on the user's scheduler");
    assert!(matches!(rival, Ok(None)), "I1: somebody else finds it held: {rival:?}");
    let beats = p1.link.count(&[Verb::Beat]);
    assert!((4..=8).contains(&beats), "one heartbeat every third of a lease: {beats}");
    assert!(table.is_free(), "given back");
}

#[test]
fn work_that_blocks_its_runtime_loses_the_lease_of_an_engine_on_the_same() {
    let (_table, p1, rival, held) = block(false);
    assert!(matches!(held, Err(LockError::Lost(_))), "I4: and is told so: {held:?}");
    assert_eq!(p1.link.count(&[Verb::Beat, Verb::Release]), 0, "I9: nothing is sent once it is late");
    assert!(matches!(rival, Ok(Some(()))), "I6: somebody else has got in: {rival:?}");
}

#[test]
fn a_lease_outlives_neither_its_callers_future_nor_its_runtime() {
    let table = runtime().block_on(async { Table::new() });
    let p1 = process(&table, "P1", true);
    runtime().block_on(async {
        let ctx = p1.ctx();
        let work = LOCK.run(&ctx, async |_| {
            std::future::pending::<()>().await;
            Ok::<_, LockError>(())
        });
        assert!(tokio::time::timeout(millis(100), work).await.is_err(), "the replay: dropped while held");
    });
    // The runtime is gone as well. The release is on the engine's thread, and takes as long as that needs.
    let shutdown = runtime().block_on(p1.engine.shutdown(SHORT.release));
    assert!(shutdown.is_clean(), "the release was finished: {shutdown:?}");
    assert!(table.is_free(), "I7: given back, wherever the caller has gone");
}

#[test]
fn a_hold_survives_the_end_of_the_runtime_that_its_heartbeats_ran_on() {
    let table = runtime().block_on(async { Table::new() });
    let p1 = process(&table, "P1", false);
    let first = runtime();
    let engine = p1.engine.clone();
    // The first hold of the engine brings its heartbeats to this runtime.
    first.spawn(async move {
        OTHER_LOCK.run(&engine.ctx(), async |_| std::future::pending::<Result<(), LockError>>().await).await
    });
    first.block_on(async { tokio::time::sleep(millis(20)).await });
    let second = std::thread::spawn(move || {
        let work = async |ctx: Ctx| {
            let ends = std::time::Instant::now() + SHORT.ttl * 2;
            while std::time::Instant::now() < ends {
                tokio::time::sleep(millis(50)).await;
                ctx.check()?;
            }
            Ok::<_, LockError>(())
        };
        runtime().block_on(LOCK.run(&p1.ctx(), work))
    });
    first.block_on(async { tokio::time::sleep(millis(100)).await });
    first.shutdown_background();
    second.join().expect("no panic").expect("I5: heartbeats go on from where the holder is");
}
