//! Every kind of ambiguous answer to every kind of write, once, twice and three times over.

use std::time::Duration;

use tako::backend::ErrorKind;
use tako::{LockError, policy};
use tako_lock_tests::faulty::{Calls, Fault, beats, claims, releases};
use tako_lock_tests::table::{Process, Table};
use tako_lock_tests::witness::Witness;
use tako_lock_tests::{LOCK, millis, record, secs};
use tokio::time::{sleep, timeout};

/// What may befall a write without its sender's knowing what became of it, and throttling, which says so.
const AMBIGUITIES: [Fault; 9] = [
    Fault::LostReply,
    Fault::FailsOnceApplied(ErrorKind::UnknownOutcome),
    Fault::FailsOnceApplied(ErrorKind::Unavailable),
    Fault::SentTwice,
    Fault::LandsLate(secs(5)),
    Fault::FailsThenLands(ErrorKind::Unavailable, millis(1_200)),
    Fault::LostRequest,
    Fault::Fails(ErrorKind::Throttled),
    Fault::Conflict,
];

/// How the record stands before the claim.
#[derive(Debug, Clone, Copy)]
enum Before {
    Absent,
    Released,
    Dead,
}

/// A table like that, and a process on it whose `calls` go wrong `times` times.
async fn stage(before: Before, calls: Calls, fault: Fault, times: u32) -> (Table, Process) {
    let table = Table::new();
    match before {
        Before::Absent => {}
        Before::Released => drop(table.process("before").work(&Witness::new(), millis(1)).await),
        Before::Dead => {
            table.put(&record("dead#1", table.time().plus(policy::TTL), 7));
            sleep(secs(33)).await;
        }
    }
    let p1 = table.process("P1");
    p1.link.on(calls.first(times), fault);
    (table, p1)
}

/// Once all has settled the lock can be had, under a higher fence than any before.
async fn settles(table: &Table, what: &str) {
    sleep(secs(60)).await;
    let highest = table.stored().map(|stored| stored.record.fence);
    let next = table.process("next").try_work(&Witness::new(), millis(1)).await;
    let fence = next.unwrap_or_else(|error| panic!("I6: the lock can be had after {what}: {error}"));
    assert!(fence.is_some(), "I7: nothing of {what} is left");
    assert!(fence > highest, "I2: a higher fence after {what}");
}

/// Each ambiguity, once to three times over.
fn cases() -> impl Iterator<Item = (Fault, u32)> {
    AMBIGUITIES.into_iter().flat_map(|fault| (1..=3).map(move |times| (fault, times)))
}

#[tokio::test(start_paused = true)]
async fn an_ambiguous_claim_of_run_ends_in_one_hold() {
    for before in [Before::Absent, Before::Released, Before::Dead] {
        for (fault, times) in cases() {
            let what = format!("{before:?}, {times} × {fault:?}");
            let (table, p1) = stage(before, claims(), fault, times).await;
            let (witness, asked) = (Witness::new(), table.now());
            let held = timeout(secs(30), p1.work(&witness, secs(1))).await;
            held.unwrap_or_else(|_| panic!("I6: won within its first lease: {what}"))
                .unwrap_or_else(|error| panic!("a hold and no error: {what}: {error}"));
            assert_eq!(witness.starts("P1"), 1, "the work ran exactly once: {what}");
            assert!(table.now() - asked <= secs(20), "I6: no ambiguity costs a whole lease: {what}");
            assert!(table.is_free(), "given back when the work has ended: {what}");
            settles(&table, &what).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_ambiguous_claim_of_try_run_runs_or_says_that_nobody_knows() {
    for before in [Before::Absent, Before::Released, Before::Dead] {
        for (fault, times) in cases() {
            let what = format!("{before:?}, {times} × {fault:?}");
            let (table, p1) = stage(before, claims(), fault, times).await;
            let witness = Witness::new();
            let asked = table.now();
            let tried = p1.try_work(&witness, secs(1)).await;
            // One retry settles one ambiguity. A refusal with a look after it settles itself each time; after
            // the third race that was lost, the lock counts as busy.
            let expected = match (fault, times) {
                (Fault::SentTwice, _) | (_, 1) | (Fault::Conflict, 2) => "ran",
                (Fault::Conflict, _) => "busy",
                _ => "unknown",
            };
            let outcome = match tried {
                Ok(Some(_)) => "ran",
                Ok(None) => "busy",
                Err(LockError::Unavailable { .. }) => "unknown",
                Err(error) => panic!("no other error: {what}: {error}"),
            };
            assert_eq!(outcome, expected, "{what}");
            assert_eq!(
                witness.starts("P1"),
                usize::from(outcome == "ran"),
                "only a grant runs the work: {what}"
            );
            assert!(table.now() - asked <= secs(8), "one attempt is short: {what}");
            settles(&table, &what).await;
            assert_eq!(witness.starts("P1"), usize::from(outcome == "ran"), "and not later either: {what}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_ambiguous_heartbeat_keeps_the_hold() {
    for (fault, times) in cases() {
        for skipped in [0, 2] {
            let what = format!("{times} × {fault:?} after {skipped} good ones");
            let (table, p1) = stage(Before::Absent, beats().after(skipped), fault, times).await;
            let witness = Witness::new();
            let held = p1.work(&witness, secs(75)).await;
            let fence = held.unwrap_or_else(|error| panic!("I5: no loss: {what}: {error}"));
            assert_eq!(table.fences(), [fence], "one claim, one fence: {what}");
            assert!(table.is_free(), "given back: {what}");
            settles(&table, &what).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_ambiguous_release_leaves_the_record_free_or_to_lapse() {
    for (fault, times) in cases() {
        let what = format!("{times} × {fault:?}");
        let (table, p1) = stage(Before::Absent, releases(), fault, times).await;
        let (witness, p2) = (Witness::new(), table.process("P2"));
        p1.work(&witness, secs(1)).await.unwrap_or_else(|error| panic!("unaffected: {what}: {error}"));
        assert!(table.now() <= secs(1 + 6), "within the budget of a release: {what}");
        sleep(secs(5)).await;
        // Two requests that hang are all that fit into 5 s, and if both are lost nothing was ever written.
        let is_lost = matches!(fault, Fault::LostRequest) && times > 1;
        assert_eq!(table.is_free(), !is_lost, "{what}");
        let next = timeout(policy::TTL + policy::POLL, p2.work(&witness, secs(1))).await;
        next.unwrap_or_else(|_| panic!("I6: at worst after a lease: {what}")).expect("a hold");
        settles(&table, &what).await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_ambiguous_write_of_every_kind_at_once_still_excludes() {
    for fault in AMBIGUITIES {
        let table = Table::new();
        let witness = Witness::new();
        let processes = ["P1", "P2", "P3"].map(|label| table.process(label));
        for process in &processes {
            // Every second write of each kind.
            for calls in [claims(), beats(), releases()] {
                for round in 0..40 {
                    process.link.on(calls.clone().after(round).first(1), fault);
                }
            }
        }
        let tasks: Vec<_> =
            processes.iter().cycle().take(12).map(|process| process.start(&witness, secs(25))).collect();
        for task in tasks {
            timeout(secs(3_000), task)
                .await
                .unwrap_or_else(|_| panic!("I6: a turn for each under {fault:?}"))
                .unwrap()
                .unwrap_or_else(|error| panic!("I5: no loss under {fault:?}: {error}"));
        }
        assert_eq!(witness.stays().len(), 12, "each ran once under {fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_lands_after_it_was_given_up_is_nobodys() {
    let table = Table::new();
    let (p1, p2, witness) = (table.process("P1"), table.process("P2"), Witness::new());
    // For 30 s every claim hangs, and lands 45 s after it was sent.
    p1.link.on(claims().between(Duration::ZERO, secs(30)), Fault::LandsLate(secs(45)));
    let ctx = p1.ctx().with_timeout(secs(29));
    let outcome = LOCK.run(&ctx, async |ctx| witness.work("P1", &ctx, secs(1)).await).await;
    assert!(matches!(outcome, Err(LockError::Cancelled(_))), "the caller gave up: {outcome:?}");
    sleep(secs(45).saturating_sub(table.now())).await;
    timeout(secs(60), p2.work(&witness, secs(50)))
        .await
        .expect("I6: P2 gets in, whatever lands")
        .expect("I5: and is not disturbed");
    assert_eq!(witness.starts("P1"), 0, "nobody runs under a claim that was given up");
    settles(&table, "claims that landed late").await;
}
