//! Heartbeats that fail, hang, land late or outlive their hold.

use std::time::Duration;

use tako::backend::ErrorKind;
use tako::{LockError, LossCause, policy};
use tako_lock_tests::faulty::{Fault, Verb, all_calls, beats, claims, loads, releases, writes};
use tako_lock_tests::table::{Process, Table};
use tako_lock_tests::witness::Witness;
use tako_lock_tests::{LOCK, OTHER_LOCK, millis, secs};
use tokio::runtime::Handle;
use tokio::time::{sleep, timeout};

/// From here on nothing happens any more: no request, and the record is free.
async fn stays_quiet(table: &Table, process: &Process) {
    sleep(secs(5)).await;
    let requests = process.link.requests().len();
    assert!(table.is_free(), "I7: the record is free once everything has ended");
    sleep(policy::TTL * 5).await;
    assert_eq!(process.link.requests().len(), requests, "I9: nothing is sent for a hold that is over");
    assert!(table.is_free(), "I9: nothing that was still on its way has revived it");
}

/// Holds until told of the loss; when that was, and how.
async fn until_lost(table: &Table, process: &Process) -> (Duration, LossCause) {
    let lost_at = tokio::sync::Mutex::new(None);
    let outcome = LOCK
        .run(&process.ctx(), async |ctx| {
            ctx.cancelled().await;
            *lost_at.lock().await = Some(table.now());
            ctx.check()
        })
        .await;
    let Err(LockError::Lost(lost)) = outcome else { panic!("I4: a loss is told, and not {outcome:?}") };
    (lost_at.into_inner().expect("the signal came first"), lost.cause().clone())
}

#[tokio::test(start_paused = true)]
async fn a_heartbeat_whose_answer_was_lost_is_adopted() {
    let table = Table::new();
    let (p1, witness) = (table.process("P1"), Witness::new());
    p1.link.on(beats().first(1), Fault::LostReply);
    let fence = p1.work(&witness, secs(65)).await.expect("I5: a lost answer is no loss");
    assert_eq!(table.fences(), [fence], "one claim, and the fence stays");
}

#[tokio::test(start_paused = true)]
async fn a_heartbeat_that_was_refused_to_its_own_retry_is_adopted() {
    let table = Table::new();
    let (p1, witness) = (table.process("P1"), Witness::new());
    p1.link.on(beats(), Fault::SentTwice);
    p1.work(&witness, secs(300)).await.expect("I5: 412 after one's own write is no loss");
    let reads = p1.link.count(&[Verb::Load]);
    assert!(reads <= 32, "I8: one look explains one refusal, and not {reads}");
}

#[tokio::test(start_paused = true)]
async fn validity_counts_from_the_send_and_never_from_the_answer() {
    let late = Fault::Slow { there: Duration::ZERO, back: millis(2_500) };
    for (calls, fault, sent) in [
        (claims(), late, secs(0)),
        (beats().first(1), late, secs(10)),
        (beats().first(1), Fault::SentTwice, secs(10)),
    ] {
        let table = Table::new();
        let p1 = table.process("P1");
        p1.link.on(calls, fault);
        p1.link.on(writes().since(sent + millis(1)), Fault::LostRequest);
        let (at, _) = until_lost(&table, &p1).await;
        let good_until = sent + policy::TTL - policy::MARGIN;
        assert!(
            at <= good_until,
            "I1: a write sent at {sent:?} is good for 28 s from then, not until {at:?} ({fault:?})"
        );
        assert!(at >= good_until - secs(1), "I5: it landed, so it counts: not only until {at:?} ({fault:?})");
    }
}

#[tokio::test(start_paused = true)]
async fn a_first_claim_that_was_refused_to_its_own_retry_is_a_grant() {
    for is_try in [false, true] {
        let table = Table::new();
        let (p1, witness) = (table.process("P1"), Witness::new());
        p1.link.on(claims().first(1), Fault::SentTwice);
        if is_try {
            let ran = p1.try_work(&witness, secs(1)).await.expect("no error");
            assert!(ran.is_some(), "never \"held by somebody else\" when that is ourselves");
        } else {
            p1.work(&witness, secs(1)).await.expect("a grant");
        }
        assert_eq!(witness.last_start("P1"), Duration::ZERO, "at once");
        stays_quiet(&table, &p1).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_goes_after_the_refusal_of_its_own_claim_gives_it_back() {
    let table = Table::new();
    let (p1, witness) = (table.process("P1"), Witness::new());
    p1.link.on(claims().first(1), Fault::SentTwice);
    p1.link.on(loads().after(1).first(1), Fault::Slow { there: secs(1), back: secs(1) });
    let ctx = p1.ctx().with_timeout(millis(500));
    let outcome = LOCK.run(&ctx, async |ctx| witness.work("P1", &ctx, secs(1)).await).await;
    let Err(LockError::Cancelled(cancelled)) = outcome else { panic!("the wait was cut off: {outcome:?}") };
    assert_eq!(cancelled.held_by(), None, "never \"held by ourselves\"");
    stays_quiet(&table, &p1).await;
    assert_eq!(witness.starts("P1"), 0, "nothing runs for a caller that has gone");
}

#[tokio::test(start_paused = true)]
async fn no_heartbeat_outlives_its_hold() {
    let in_flight = [
        ("answered after the release", Fault::Slow { there: Duration::ZERO, back: secs(2) }),
        ("lands while the release is on its way", Fault::Slow { there: millis(600), back: Duration::ZERO }),
        ("lands after the release", Fault::LandsLate(secs(5))),
        ("lands long after the release", Fault::LandsLate(secs(45))),
        ("is never answered", Fault::LostReply),
        ("is refused to its own retry", Fault::SentTwice),
    ];
    for (what, fault) in in_flight {
        let table = Table::new();
        let (p1, witness) = (table.process("P1"), Witness::new());
        p1.link.on(beats(), fault);
        p1.work(&witness, millis(10_500)).await.unwrap_or_else(|error| panic!("{what}: {error}"));
        stays_quiet(&table, &p1).await;
        sleep(secs(50)).await;
        assert!(table.is_free(), "I9: a heartbeat that {what} does not revive the hold");
    }
}

#[tokio::test(start_paused = true)]
async fn of_two_heartbeats_in_doubt_the_one_that_landed_counts() {
    let table = Table::new();
    let p1 = table.process("P1");
    // Sent at 10 s and 13 s. The third finds the first in the record, and it is all that the lease is good for.
    p1.link.on(beats().first(1), Fault::LostReply);
    p1.link.on(beats().first(1), Fault::LostRequest);
    p1.link.on(beats().after(1), Fault::LostRequest);
    let (at, _) = until_lost(&table, &p1).await;
    let good_until = secs(10) + policy::TTL - policy::MARGIN;
    assert!(at <= good_until, "I1: the second never landed, and counts for nothing: until {at:?}");
    assert!(at >= good_until - secs(1), "I5: the first landed, so it counts: not only until {at:?}");
}

#[tokio::test(start_paused = true)]
async fn a_heartbeat_is_sent_when_it_is_due_whatever_else_is_held() {
    let table = Table::new();
    let (p1, witness) = (table.process("P1"), Witness::new());
    // Its first heartbeat is on its way while another hold begins: then the other's is the next that is known to be due.
    p1.link.on(beats().first(1), Fault::Slow { there: Duration::ZERO, back: millis(2_500) });
    let first = p1.start(&witness, secs(40));
    sleep(secs(12)).await;
    let other = async |_| {
        sleep(secs(9)).await;
        Ok::<_, LockError>(())
    };
    OTHER_LOCK.run(&p1.ctx(), other).await.expect("held");
    let sent: Vec<_> = p1.link.requests().into_iter().filter(|request| request.verb == Verb::Beat).collect();
    assert_eq!(sent.len(), 2, "one at 10 s, one at 20 s: {sent:?}");
    first.await.unwrap().expect("kept up");
}

#[tokio::test(start_paused = true)]
async fn a_hung_heartbeat_ends_with_its_hold() {
    let table = Table::new();
    let (p1, witness) = (table.process("P1"), Witness::new());
    p1.link.on(beats(), Fault::LostRequest);
    p1.work(&witness, millis(10_500)).await.expect("given back while the heartbeat hangs");
    tokio::task::yield_now().await;
    assert_eq!(table.now(), millis(10_500), "the replay: the heartbeat would hang for 2.5 s more");
    assert_eq!(
        Handle::current().metrics().num_alive_tasks(),
        0,
        "I7: nothing is left of a hold that is over"
    );
}

#[tokio::test(start_paused = true)]
async fn no_heartbeat_is_sent_while_the_release_is_on_its_way() {
    for (ends_at, fault) in [
        (millis(9_000), Fault::Slow { there: millis(2_500), back: Duration::ZERO }),
        (millis(9_000), Fault::LostRequest),
        (millis(9_900), Fault::Fails(ErrorKind::Throttled)),
    ] {
        let table = Table::new();
        let (p1, witness) = (table.process("P1"), Witness::new());
        p1.link.on(releases(), fault);
        p1.work(&witness, ends_at).await.expect("unaffected");
        sleep(secs(60)).await;
        assert!(table.now() > secs(60), "the replay: heartbeats were due meanwhile");
        assert_eq!(p1.link.count(&[Verb::Beat]), 0, "I9: beats stop before the release starts ({fault:?})");
    }
}

#[tokio::test(start_paused = true)]
async fn a_release_in_the_very_moment_of_the_grant_leaves_nothing() {
    let table = Table::new();
    let (p1, witness) = (table.process("P1"), Witness::new());
    for _ in 0..100 {
        p1.work(&witness, Duration::ZERO).await.expect("a hold of no length");
    }
    stays_quiet(&table, &p1).await;
    assert_eq!(table.history().len(), 200, "I8: two writes for each");
}

#[tokio::test(start_paused = true)]
async fn a_total_outage_is_told_by_the_deadline_alone() {
    for fault in
        [Fault::LostRequest, Fault::Fails(ErrorKind::Unavailable), Fault::Fails(ErrorKind::Throttled)]
    {
        let table = Table::new();
        let p1 = table.process("P1");
        p1.link.on(all_calls().since(millis(1)), fault);
        let (at, cause) = until_lost(&table, &p1).await;
        assert_eq!(at, policy::TTL - policy::MARGIN, "the timer speaks, whatever the store does ({fault:?})");
        assert!(
            matches!(cause, LossCause::Expired { last_error: Some(_) }),
            "with the store's last word: {cause:?}"
        );
        assert_eq!(table.now(), at, "`run` returns as soon as its work does: a lost lease has no release");
    }
}

#[tokio::test(start_paused = true)]
async fn a_release_into_an_outage_is_bounded() {
    let table = Table::new();
    let (p1, witness) = (table.process("P1"), Witness::new());
    p1.link.on(all_calls().since(millis(1)), Fault::LostRequest);
    p1.work(&witness, secs(5)).await.expect("the result of the work is unaffected");
    assert_eq!(table.now(), secs(10), "the release gives up after its 5 s");
}

#[tokio::test(start_paused = true)]
async fn one_hung_heartbeat_is_capped_and_tried_again() {
    let table = Table::new();
    let (p1, witness) = (table.process("P1"), Witness::new());
    p1.link.on(beats().first(1), Fault::Slow { there: Duration::ZERO, back: secs(60) });
    p1.work(&witness, secs(100)).await.expect("I5: one hung request does not eat the lease");
    let again = p1.link.requests().into_iter().filter(|request| request.verb == Verb::Beat).nth(1);
    let again = again.expect("a second try").at - secs(10);
    assert!(
        again >= policy::ATTEMPT && again <= policy::ATTEMPT + millis(500),
        "the next try follows the cap, and not {again:?} later"
    );
}

#[tokio::test(start_paused = true)]
async fn hung_heartbeats_end_the_hold_before_anybody_else_starts() {
    let hangs = [
        Fault::Slow { there: Duration::ZERO, back: secs(60) },
        Fault::LostRequest,
        Fault::LandsLate(secs(29)),
        Fault::LandsLate(secs(45)),
    ];
    for fault in hangs {
        let table = Table::new();
        let (p1, p2, witness) = (table.process("P1"), table.process("P2"), Witness::new());
        p1.link.on(beats(), fault);
        p1.link.on(loads().since(secs(1)), Fault::LostRequest);
        let first = p1.start(&witness, secs(200));
        sleep(millis(10)).await;
        p2.work(&witness, secs(60))
            .await
            .unwrap_or_else(|error| panic!("P2 holds after P1 ({fault:?}): {error}"));
        let lost = first.await.unwrap();
        assert!(matches!(lost, Err(LockError::Lost(_))), "I4: P1 was told ({fault:?}): {lost:?}");
        let owner = table.history_of("P1")[0].record.owner.clone();
        let landed = table.last_write_of(&owner).unwrap();
        assert!(
            landed < witness.last_start("P2"),
            "I9: nothing of P1 was applied after P2 started ({fault:?})"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn transient_errors_are_not_loss() {
    for kind in [ErrorKind::Unavailable, ErrorKind::UnknownOutcome, ErrorKind::Throttled] {
        let table = Table::new();
        let (p1, witness) = (table.process("P1"), Witness::new());
        p1.link.on(beats().first(2), Fault::Fails(kind));
        p1.work(&witness, secs(60))
            .await
            .unwrap_or_else(|error| panic!("I5: {kind:?} twice is no loss: {error}"));
        let sent = p1.link.requests().into_iter().filter(|request| request.verb == Verb::Beat);
        let sent: Vec<_> = sent.map(|request| request.at).take(3).collect();
        let most = if kind == ErrorKind::Throttled { millis(3_000) } else { millis(800) };
        assert!(sent[2] - sent[0] <= most, "three tries follow each other quickly: {sent:?} ({kind:?})");
        if kind == ErrorKind::Throttled {
            assert!(sent[1] - sent[0] >= policy::PACE, "after a 429 at least a second passes: {sent:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn one_answer_in_every_eighteen_seconds_is_enough() {
    // Let through one heartbeat, then nothing for 17.5 s.
    let table = Table::new();
    let (p1, witness) = (table.process("P1"), Witness::new());
    for round in 0..20 {
        let from = secs(1) + millis(17_500) * round + millis(400) * round;
        p1.link.on(all_calls().between(from, from + millis(17_500)), Fault::Fails(ErrorKind::Unavailable));
    }
    let held = timeout(secs(600), p1.work(&witness, secs(340))).await.expect("ends");
    held.expect("I5: a hold that gets one answer in every 18 s is never lost");
}
