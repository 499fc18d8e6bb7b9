//! Backends that tell less than they could, within the contract.

use tako::backend::ErrorKind;
use tako::{LockError, policy};
use tako_lock_tests::faulty::{Fault, Verb, clock};
use tako_lock_tests::table::Table;
use tako_lock_tests::witness::Witness;
use tako_lock_tests::{record, secs};
use tokio::time::timeout;

#[tokio::test(start_paused = true)]
async fn a_store_that_dates_no_write_keeps_a_long_hold() {
    let table = Table::new();
    let p1 = table.process("P1");
    p1.link.never_dates();
    let witness = Witness::new();
    timeout(secs(1_000), p1.work(&witness, secs(900)))
        .await
        .expect("I8: heartbeats keep their distance, so that time goes on")
        .expect("I5: a store that answers every heartbeat gives no reason for a loss");
    assert!(p1.link.writes() < 100, "I8: one heartbeat every 10 s, and not {} writes", p1.link.writes());
}

#[tokio::test(start_paused = true)]
async fn a_store_that_dates_no_write_grants_after_an_idle_quarter_of_an_hour() {
    let table = Table::new();
    let p1 = table.process("P1");
    p1.link.never_dates();
    let witness = Witness::new();
    for _ in 0..2 {
        timeout(secs(60), p1.work(&witness, secs(1)))
            .await
            .expect("I6: a free lock is won, however old the estimate of the store's time")
            .expect("a hold");
        tokio::time::sleep(secs(900)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_dates_no_write_grants_a_released_record_to_a_new_process() {
    let table = Table::new();
    let witness = Witness::new();
    for who in ["P1", "P2"] {
        let process = table.process(who);
        process.link.never_dates();
        timeout(secs(60), process.work(&witness, secs(1)))
            .await
            .expect("I6: a released record is won by a process that has not asked for the store's time yet")
            .expect("a hold");
    }
}

#[tokio::test(start_paused = true)]
async fn a_released_record_is_won_without_the_stores_time() {
    let table = Table::new();
    let witness = Witness::new();
    table.process("P1").work(&witness, secs(1)).await.expect("a first hold");
    let p2 = table.process("P2");
    p2.link.on(clock(), Fault::Fails(ErrorKind::Unavailable));
    timeout(secs(160), p2.work(&witness, secs(100)))
        .await
        .expect("I6: a released record needs no clock")
        .expect("I5: and the dates of the writes keep the hold up");
}

#[tokio::test(start_paused = true)]
async fn a_dead_record_is_taken_by_watching_it_while_the_store_never_tells_its_time() {
    let table = Table::new();
    let witness = Witness::new();
    // By its expiry alone this record would be good for an hour.
    table.put(&record("dead#1", table.time().plus(secs(3_600)), 7));
    let p2 = table.process("P2");
    p2.link.on(clock(), Fault::Fails(ErrorKind::Unavailable));
    // Two polls: a host whose wall clock is behind the store's learns so from its first, useless grant.
    timeout(policy::TTL + policy::GUARD + policy::POLL * 3, p2.work(&witness, secs(1)))
        .await
        .expect("I6: a version that stood still for TTL + GUARD is dead")
        .expect("a hold");
    assert!(
        witness.last_start("P2") >= policy::TTL + policy::GUARD,
        "I1: and not a moment earlier, whatever the clocks say"
    );
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_only_ever_tries_takes_a_dead_record_by_watching_it() {
    let table = Table::new();
    let witness = Witness::new();
    table.put(&record("dead#1", table.time().plus(secs(3_600)), 7));
    let p2 = table.process("P2");
    p2.link.on(clock(), Fault::Fails(ErrorKind::Unavailable));
    let mut tries = 0;
    while p2.try_work(&witness, secs(1)).await.expect("a store that answers reads can be judged").is_none() {
        tries += 1;
        assert!(tries < 3, "what is observed is kept between attempts, a minute apart");
        tokio::time::sleep(secs(60)).await;
    }
    assert_eq!(tries, 1, "the second attempt sees what the first saw, a minute older");
}

#[tokio::test(start_paused = true)]
async fn a_new_record_waits_for_the_stores_time_because_its_fence_needs_it() {
    let table = Table::new();
    let witness = Witness::new();
    let p1 = table.process("P1");
    p1.link.on(clock().between(secs(0), secs(20)), Fault::Fails(ErrorKind::Unavailable));
    let tried = p1.try_work(&witness, secs(1)).await;
    assert!(matches!(tried, Err(LockError::Unavailable { .. })), "one attempt says what is wrong: {tried:?}");
    timeout(secs(30), p1.work(&witness, secs(1))).await.expect("I6: `run` waits for it").expect("a hold");
    assert!(witness.last_start("P1") >= secs(20), "nothing starts without a fence that can be trusted");
    assert_eq!(p1.link.count(&[Verb::Claim]), 1, "nothing is written without either");
}

#[tokio::test(start_paused = true)]
async fn a_hold_outlives_an_hour_at_one_write_every_ten_seconds() {
    let table = Table::new();
    let p1 = table.process("P1");
    let start = p1.link.writes();
    p1.work(&Witness::new(), secs(3_600)).await.expect("I5: an hour with a good store");
    let writes = p1.link.writes() - start;
    assert!(
        (360..=362).contains(&writes),
        "I8: a claim, 360 heartbeats or one less, a release, and not {writes}"
    );
    assert_eq!(p1.link.count(&[Verb::Load]), 1, "I8: a holder never reads");
}
