//! What the store refuses for a while, and what it answers on the contended path.

use std::time::Duration;

use tako::backend::ErrorKind;
use tako::{LockError, policy};
use tako_lock_tests::faulty::{Fault, Verb, all_calls, beats, claims, clock, loads, releases};
use tako_lock_tests::table::Table;
use tako_lock_tests::witness::Witness;
use tako_lock_tests::{OTHER_LOCK, millis, secs};
use tokio::time::{sleep, timeout};

#[tokio::test(start_paused = true)]
async fn a_release_is_retried_through_throttling_and_outages() {
    let failures = [
        (ErrorKind::Throttled, 2, secs(4)),
        (ErrorKind::Unavailable, 1, secs(1)),
        (ErrorKind::Unavailable, 5, secs(5)),
        (ErrorKind::UnknownOutcome, 2, secs(1)),
        // One refusal may be a stray: a token that is just being exchanged.
        (ErrorKind::Denied, 1, secs(1)),
        (ErrorKind::Misconfigured, 1, secs(1)),
    ];
    for (kind, times, within) in failures {
        let table = Table::new();
        let (p1, p2, witness) = (table.process("P1"), table.process("P2"), Witness::new());
        p1.link.on(releases().first(times), Fault::Fails(kind));
        p1.work(&witness, secs(1)).await.expect("the result is unaffected");
        assert!(table.is_free(), "{times} times {kind:?}, and the record is free all the same");
        let took = table.now() - secs(1);
        assert!(took <= within, "within the budget of a release: {took:?} for {times} times {kind:?}");
        let ran = p2.try_work(&witness, secs(1)).await.expect("no error");
        assert!(ran.is_some(), "the next holder gets in at once");
    }
}

#[tokio::test(start_paused = true)]
async fn a_campaign_through_an_outage_keeps_the_pace_of_a_poll() {
    let table = Table::new();
    let (p1, witness) = (table.process("P1"), Witness::new());
    p1.link.on(all_calls().between(secs(0), secs(60)), Fault::Fails(ErrorKind::Unavailable));
    p1.work(&witness, secs(1)).await.expect("got once the store is back");
    let looks = p1.link.requests().iter().filter(|request| request.at < secs(60)).count();
    assert!(looks <= 41, "I8: one look in 1.5 s at the most, and not {looks}");
}

#[tokio::test(start_paused = true)]
async fn a_try_asks_twice_in_quick_succession_and_says_for_how_long_it_has() {
    for (failures, is_got) in [(1, true), (2, false)] {
        let table = Table::new();
        let (p1, witness) = (table.process("P1"), Witness::new());
        p1.link.on(loads().first(failures), Fault::Fails(ErrorKind::Unavailable));
        let tried = p1.try_work(&witness, Duration::ZERO).await;
        let took = table.now();
        assert!((millis(200)..millis(500)).contains(&took), "one retry, after a short pause: {took:?}");
        match tried {
            Ok(Some(_)) => assert!(is_got),
            Err(LockError::Unavailable { since, .. }) => assert!(!is_got && since == took, "{since:?}"),
            other => panic!("the store failed, and nobody holds it: {other:?}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn campaigns_that_need_the_stores_time_at_once_ask_for_it_once() {
    for fault in [Fault::Slow { there: millis(200), back: millis(200) }, Fault::Fails(ErrorKind::Denied)] {
        let table = Table::new();
        let (p1, witness) = (table.process("P1"), Witness::new());
        p1.link.on(clock(), fault);
        let first = p1.start(&witness, secs(1));
        if matches!(fault, Fault::Fails(_)) {
            sleep(millis(100)).await;
        }
        let ctx = p1.ctx();
        let other = OTHER_LOCK.run(&ctx, async |_| Ok::<_, LockError>(()));
        let outcome = timeout(secs(1), other).await;
        sleep(millis(100)).await;
        assert_eq!(p1.link.count(&[Verb::Clock]), 1, "I8: one question for all of them ({outcome:?})");
        first.abort();
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_dates_its_writes_is_asked_for_its_time_once() {
    let table = Table::new();
    let (p1, witness) = (table.process("P1"), Witness::new());
    p1.link.on(all_calls(), Fault::Slow { there: millis(100), back: millis(100) });
    p1.work(&witness, secs(300)).await.expect("kept up");
    assert_eq!(p1.link.count(&[Verb::Clock]), 1, "I8: each heartbeat brings the time along");
}

#[tokio::test(start_paused = true)]
async fn a_try_behind_a_campaign_in_an_outage_is_told_of_it() {
    let table = Table::new();
    let (p1, witness) = (table.process("P1"), Witness::new());
    p1.link.on(all_calls().between(secs(0), secs(60)), Fault::Fails(ErrorKind::Unavailable));
    let waiter = p1.start(&witness, secs(1));
    sleep(secs(10)).await;
    let tried = p1.try_work(&witness, secs(1)).await;
    assert!(
        matches!(tried, Err(LockError::Unavailable { .. })),
        "nobody knows that somebody holds it: {tried:?}"
    );
    waiter.await.unwrap().expect("got once the store is back");
}

#[tokio::test(start_paused = true)]
async fn a_release_that_never_gets_through_delays_others_by_a_lease_and_no_more() {
    for fault in [
        Fault::Fails(ErrorKind::Unavailable),
        Fault::Fails(ErrorKind::Throttled),
        Fault::Fails(ErrorKind::Denied),
        Fault::LostRequest,
    ] {
        let table = Table::new();
        let (p1, p2, witness) = (table.process("P1"), table.process("P2"), Witness::new());
        p1.link.on(releases(), fault);
        p1.work(&witness, secs(1)).await.expect("the result is unaffected");
        assert!(table.now() <= secs(7), "a release gives up within its 5 s ({fault:?})");
        p2.work(&witness, secs(1)).await.expect("P2 gets in");
        let bound = policy::TTL + policy::GUARD + policy::POLL * 5 / 4;
        assert!(
            witness.last_start("P2") <= bound,
            "I6: when the lease has run out, and not later ({fault:?})"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn twenty_short_runs_share_one_write_a_second() {
    let table = Table::new();
    table.throttle(secs(1));
    let witness = Witness::new();
    let processes = ["P1", "P2", "P3"].map(|label| table.process(label));
    let runs: Vec<_> =
        processes.iter().cycle().take(20).map(|process| process.start(&witness, millis(50))).collect();
    for run in runs {
        timeout(secs(600), run)
            .await
            .expect("I6: all of them get their turn")
            .unwrap()
            .expect("429 is \"later\": never \"lost\", never an error of `run`");
    }
    assert_eq!(witness.stays().len(), 20, "each ran once");
    assert!(table.throttled() > 0, "the replay: the limit was met");
    assert!(table.is_free(), "and each gave back what it had");
}

#[tokio::test(start_paused = true)]
async fn a_try_that_is_throttled_retries_once_and_then_says_so() {
    let table = Table::new();
    let (p1, witness) = (table.process("P1"), Witness::new());
    p1.link.on(claims().first(1), Fault::Fails(ErrorKind::Throttled));
    assert!(p1.try_work(&witness, secs(1)).await.expect("no error").is_some(), "one 429 is retried");
    p1.link.on(claims(), Fault::Fails(ErrorKind::Throttled));
    let tried = p1.try_work(&witness, secs(1)).await;
    assert!(
        matches!(tried, Err(LockError::Unavailable { .. })),
        "two are reported, not taken for busy: {tried:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_refusal_with_nothing_there_is_tried_again_at_once() {
    let table = Table::new();
    let (p1, witness) = (table.process("P1"), Witness::new());
    p1.link.on(claims().first(1), Fault::Conflict);
    let ran = p1.try_work(&witness, secs(1)).await.expect("a lost race is no error");
    assert!(ran.is_some(), "412, and then nothing there: the lock is free");
    assert_eq!(witness.last_start("P1"), Duration::ZERO, "without a pause");
}

#[tokio::test(start_paused = true)]
async fn two_racing_writes_where_neither_won_are_a_lost_race() {
    let table = Table::new();
    let (p1, witness) = (table.process("P1"), Witness::new());
    p1.work(&witness, secs(1)).await.expect("a released record");
    p1.link.on(claims().first(1), Fault::Conflict);
    p1.link.on(beats().first(2), Fault::Conflict);
    p1.link.on(releases().first(1), Fault::Conflict);
    p1.work(&witness, secs(35)).await.expect("a conflict is neither loss nor error");
    assert!(table.is_free(), "the release goes through after its conflict");
}

#[tokio::test(start_paused = true)]
async fn a_campaigner_that_always_loses_the_race_waits_like_anyone() {
    let table = Table::new();
    let (p1, witness) = (table.process("P1"), Witness::new());
    p1.link.on(claims().first(30), Fault::Conflict);
    timeout(secs(60), p1.work(&witness, secs(1))).await.expect("I6: in the end it wins").expect("a hold");
    let sent = p1.link.requests().into_iter().filter(|request| request.verb == Verb::Claim);
    let mut at_once = std::collections::BTreeMap::<Duration, u32>::new();
    for request in sent {
        *at_once.entry(request.at).or_default() += 1;
    }
    assert!(at_once.values().all(|count| *count <= 3), "I8: no hot loop of writes: {at_once:?}");
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_read_is_an_error_at_once_and_stays_as_it_is() {
    for kind in [ErrorKind::Corrupt, ErrorKind::Denied, ErrorKind::Misconfigured] {
        let table = Table::new();
        let (p1, witness) = (table.process("P1"), Witness::new());
        p1.link.on(loads(), Fault::Fails(kind));
        let tried = p1.try_work(&witness, secs(1)).await.expect_err("never taken for free");
        let ran = p1.work(&witness, secs(1)).await.expect_err("never taken for free");
        for error in [tried, ran] {
            let is_told = match kind {
                ErrorKind::Corrupt => matches!(error, LockError::Corrupt { .. }),
                ErrorKind::Denied => matches!(error, LockError::Denied { .. }),
                _ => matches!(error, LockError::Misconfigured { .. }),
            };
            assert!(is_told, "{kind:?} is told as what it is: {error:?}");
            let has_path = error.to_string().contains("leases/run-app-dev-reindex");
            assert!(has_path, "and names the object: {error}");
        }
        assert_eq!(table.now(), Duration::ZERO, "at once: waiting would not help ({kind:?})");
        assert_eq!(p1.link.writes(), 0, "nothing is overwritten ({kind:?})");
        sleep(secs(60)).await;
        assert_eq!(table.stored(), None, "nor later ({kind:?})");
    }
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_is_not_allowed_is_an_error_at_once() {
    for kind in [ErrorKind::Denied, ErrorKind::Misconfigured] {
        let table = Table::new();
        let (p1, witness) = (table.process("P1"), Witness::new());
        p1.link.on(claims(), Fault::Fails(kind));
        let tried = p1.try_work(&witness, secs(1)).await;
        let ran = p1.work(&witness, secs(1)).await;
        assert!(tried.is_err() && ran.is_err(), "{kind:?} is final: {tried:?}, {ran:?}");
        assert_eq!(table.now(), Duration::ZERO, "and told at once ({kind:?})");
        sleep(secs(60)).await;
        assert_eq!(p1.link.writes(), 2, "I8: with one try each ({kind:?})");
    }
}

#[tokio::test(start_paused = true)]
async fn a_holder_that_is_not_allowed_to_renew_is_not_lost_before_its_deadline() {
    let table = Table::new();
    let (p1, witness) = (table.process("P1"), Witness::new());
    p1.link.on(beats().between(secs(0), secs(25)), Fault::Fails(ErrorKind::Denied));
    p1.work(&witness, secs(60)).await.expect("I5: errors alone are not loss: a permission may come back");
}
