//! Callers within one process: the queue, reentrancy, and what they cost the store.

use std::collections::BTreeMap;
use std::time::Duration;

use tako::LockError;
use tako_lock_tests::faulty::Verb;
use tako_lock_tests::table::Table;
use tako_lock_tests::witness::Witness;
use tako_lock_tests::{LOCK, OTHER_LOCK, SAME_LOCK, millis, secs};
use tokio::time::{sleep, timeout};

#[tokio::test(start_paused = true)]
async fn a_nested_run_fails_at_once_and_a_nested_try_answers_no() {
    let table = Table::new();
    let p1 = table.process("P1");
    let ran = LOCK
        .run(&p1.ctx(), async |ctx| {
            let requests = p1.link.requests().len();
            for lock in [&LOCK, &SAME_LOCK] {
                for inner in [ctx.clone(), ctx.child(), ctx.with_timeout(secs(9))] {
                    let nested = lock.run(&inner, async |_| Ok::<_, LockError>(())).await;
                    assert!(
                        matches!(nested, Err(LockError::Reentrant { .. })),
                        "it would wait for itself: {nested:?}"
                    );
                    let tried = lock.try_run(&inner, async |_| Ok::<_, LockError>(())).await?;
                    assert_eq!(tried, None, "a holder's own attempt is refused like anyone's");
                }
            }
            let spawned = ctx.clone();
            let nested =
                tokio::spawn(async move { LOCK.run(&spawned, async |_| Ok::<_, LockError>(())).await });
            let nested = nested.await.unwrap();
            assert!(
                matches!(nested, Err(LockError::Reentrant { .. })),
                "a spawned task with the context too"
            );
            assert_eq!(p1.link.requests().len(), requests, "none of that asks the store");
            // Another lock inside of it, and this one again inside of that.
            OTHER_LOCK
                .run(&ctx, async |deeper| {
                    let nested = LOCK.run(&deeper, async |_| Ok::<_, LockError>(())).await;
                    assert!(
                        matches!(nested, Err(LockError::Reentrant { .. })),
                        "through another lock as well"
                    );
                    Ok::<_, LockError>(())
                })
                .await
        })
        .await;
    ran.expect("the outer hold is untouched");
    assert_eq!(table.now(), Duration::ZERO, "at once: never a silent hang");
}

#[tokio::test(start_paused = true)]
async fn an_unrelated_context_waits_like_anyone() {
    let table = Table::new();
    let (p1, witness) = (table.process("P1"), Witness::new());
    let waiter = LOCK
        .run(&p1.ctx(), async |ctx| {
            witness.enter("outer", &ctx);
            // A task of its own context, started from inside.
            let waiter = p1.start(&witness, secs(1));
            let tried = SAME_LOCK.try_run(&p1.ctx(), async |_| Ok::<_, LockError>(())).await?;
            assert_eq!(tried, None, "two statics of one name are one lock");
            sleep(secs(3)).await;
            assert_eq!(witness.stays().len(), 1, "never two at once");
            Ok::<_, LockError>(waiter)
        })
        .await
        .expect("no loss");
    waiter.await.unwrap().expect("its turn comes");
    assert_eq!(witness.last_start("P1"), secs(3), "the moment the outer one has ended");
}

#[tokio::test(start_paused = true)]
async fn the_context_of_a_hold_that_has_ended_takes_nothing() {
    let table = Table::new();
    let p1 = table.process("P1");
    let escaped = LOCK.run(&p1.ctx(), async |ctx| Ok::<_, LockError>(ctx)).await.expect("a hold");
    let outcome = LOCK.run(&escaped, async |_| Ok::<_, LockError>(())).await;
    assert!(matches!(outcome, Err(LockError::Cancelled(_))), "the context is over: {outcome:?}");
    let outcome = OTHER_LOCK.try_run(&escaped, async |_| Ok::<_, LockError>(())).await;
    assert!(matches!(outcome, Err(LockError::Cancelled(_))), "for every lock: {outcome:?}");
}

#[tokio::test(start_paused = true)]
async fn local_callers_are_served_in_order_without_waiting_for_a_poll() {
    let table = Table::new();
    let (p1, witness) = (table.process("P1"), Witness::new());
    let mut tasks = Vec::new();
    for number in 0..20 {
        let (process, stay) = (p1.clone(), witness.clone());
        tasks.push(tokio::spawn(async move {
            let who = format!("{number:02}");
            LOCK.run(&process.ctx(), async |ctx| stay.work(&who, &ctx, millis(100)).await).await
        }));
        tokio::task::yield_now().await;
    }
    for task in tasks {
        task.await.unwrap().expect("a turn for each");
    }
    let order: Vec<_> = witness.stays().into_iter().map(|stay| stay.who).collect();
    assert!(order.is_sorted(), "in order of arrival: {order:?}");
    assert_eq!(table.now(), millis(2_000), "handed over at once, twenty times");
    assert_eq!(p1.link.writes(), 40, "I8: two writes for each");
    assert_eq!(p1.link.count(&[Verb::Load]), 1, "I8: and one look for all of them");
}

#[tokio::test(start_paused = true)]
async fn two_hundred_local_waiters_cost_the_requests_of_one() {
    let mut looks = Vec::new();
    for waiters in [1, 200] {
        let table = Table::new();
        let (p1, p2, witness) = (table.process("P1"), table.process("P2"), Witness::new());
        let holder = p2.start(&witness, secs(600));
        sleep(millis(10)).await;
        let tasks: Vec<_> = (0..waiters).map(|_| p1.start(&witness, Duration::ZERO)).collect();
        sleep(secs(599)).await;
        assert_eq!(p1.link.writes(), 0, "campaigners poll with reads");
        looks.push(p1.link.requests().len());
        holder.await.unwrap().expect("I5: nobody disturbs the holder");
        let freed = table.now();
        for task in tasks {
            task.await.unwrap().expect("a turn for each");
        }
        assert!(table.now() - freed <= millis(2_500), "I6: all of them within one poll of the release");
    }
    for count in &looks {
        assert!(
            (600 / 5 * 2..=400).contains(count),
            "I8: one look in 1.5 s to 2.5 s, whoever waits: {looks:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn fifty_processes_do_not_fall_into_step() {
    let table = Table::new();
    let (holder, witness) = (table.process("holder"), Witness::new());
    let held = holder.start(&witness, secs(600));
    sleep(millis(10)).await;
    let processes: Vec<_> = (0..50).map(|number| table.process(&format!("P{number}"))).collect();
    let waiting: Vec<_> = processes.iter().map(|process| process.start(&witness, millis(10))).collect();
    held.await.unwrap().expect("I5: nobody disturbs the holder");
    let mut buckets = BTreeMap::<u128, usize>::new();
    let mut all = 0;
    for process in &processes {
        let requests = process.link.requests();
        let looks = requests.iter().filter(|request| request.verb == Verb::Load).count();
        assert!(looks <= 402, "I8: one look a poll for each process, and not {looks}");
        // The first minute is for falling out of step: they all start in the same instant here.
        for request in requests.iter().filter(|request| request.at > secs(60)) {
            *buckets.entry(request.at.as_millis() / 100).or_default() += 1;
            all += 1;
        }
    }
    let most = buckets.values().max().copied().unwrap_or_default();
    assert!(most * 200 <= all, "no tenth of a second sees more than 0.5 % of the looks: {most} of {all}");
    let freed = table.now();
    sleep(millis(2_500)).await;
    assert!(witness.stays().len() > 1, "I6: handed over within a poll of {freed:?}");
    for task in waiting {
        timeout(secs(600), task).await.expect("I6: in the end all get it").unwrap().expect("a hold");
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_head_passes_its_duty_on() {
    let table = Table::new();
    let (p1, p2, witness) = (table.process("P1"), table.process("P2"), Witness::new());
    let holder = p2.start(&witness, secs(20));
    sleep(millis(10)).await;
    let head = p1.start(&witness, secs(1));
    sleep(millis(10)).await;
    let second = p1.start(&witness, secs(1));
    let third = p1.start(&witness, secs(1));
    sleep(secs(5)).await;
    head.abort();
    second.abort();
    let before = p1.link.requests().len();
    sleep(secs(10)).await;
    let looks = p1.link.requests().len() - before;
    assert!((3..=8).contains(&looks), "I8: the next one polls on, at the same pace: {looks} looks in 10 s");
    holder.await.unwrap().expect("a hold");
    third.await.unwrap().expect("I6: and gets it");
    let handed = witness.last_start("P1") - secs(20);
    assert!(handed <= millis(2_600), "I6: within a poll: {handed:?}");
}

#[tokio::test(start_paused = true)]
async fn an_uncontended_window_costs_two_writes_and_no_read() {
    let table = Table::new();
    let (p1, witness) = (table.process("P1"), Witness::new());
    p1.work(&witness, secs(1)).await.expect("a first hold");
    let before = p1.link.requests().len();
    for _ in 0..100 {
        p1.work(&witness, secs(1)).await.expect("a hold");
        assert!(p1.try_work(&witness, secs(1)).await.expect("no error").is_some(), "a hold");
    }
    let requests = p1.link.requests();
    assert_eq!(requests.len() - before, 400, "I8: two writes for each window, and nothing else");
    assert!(requests[before..].iter().all(|request| request.verb != Verb::Load), "I8: no reads");
}

#[tokio::test(start_paused = true)]
async fn a_contended_try_costs_one_read_and_no_write() {
    let table = Table::new();
    let (p1, p2, witness) = (table.process("P1"), table.process("P2"), Witness::new());
    let holder = p2.start(&witness, secs(100));
    sleep(secs(1)).await;
    assert!(p1.try_work(&witness, secs(1)).await.expect("no error").is_none(), "busy");
    let first = p1.link.requests();
    assert!(first.len() <= 2, "the first may ask for the store's time as well: {first:?}");
    for _ in 0..20 {
        sleep(secs(4)).await;
        let before = p1.link.requests().len();
        assert!(p1.try_work(&witness, secs(1)).await.expect("no error").is_none(), "busy");
        assert_eq!(p1.link.requests().len() - before, 1, "I8: one read");
    }
    assert_eq!(p1.link.writes(), 0, "I8: and never a write");
    holder.await.unwrap().expect("I5: untouched");
}

#[tokio::test(start_paused = true)]
async fn impatient_callers_one_after_another_cost_no_more_looks_than_one() {
    let table = Table::new();
    let (p1, p2, witness) = (table.process("P1"), table.process("P2"), Witness::new());
    let holder = p2.start(&witness, secs(100));
    sleep(millis(10)).await;
    for _ in 0..400 {
        let ctx = p1.ctx().with_timeout(millis(100));
        let outcome = LOCK.run(&ctx, async |ctx| witness.work("P1", &ctx, secs(1)).await).await;
        assert!(matches!(outcome, Err(LockError::Cancelled(_))), "it is held: {outcome:?}");
    }
    let looks = p1.link.count(&[Verb::Load]);
    assert!(looks <= 40 * 2 / 3 + 2, "I8: one look a poll in 40 s, whoever comes and goes: {looks}");
    holder.await.unwrap().expect("I5: untouched");
}
