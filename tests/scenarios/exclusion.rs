//! Two holders, wrong owner.

use std::collections::BTreeSet;

use tako::backend::ErrorKind;
use tako::{Engine, LockError, LossCause, policy};
use tako_lock_tests::faulty::{Fault, Verb, all_calls, claims, releases};
use tako_lock_tests::host::{Clocks, Host};
use tako_lock_tests::table::{Process, Table};
use tako_lock_tests::witness::Witness;
use tako_lock_tests::{millis, record, secs};
use tokio::time::sleep;

#[tokio::test(start_paused = true)]
async fn a_grant_that_is_answered_too_late_is_never_started() {
    for answered_after in [24, 29, 31] {
        let table = Table::new();
        let (p1, p2, witness) = (table.process("P1"), table.process("P2"), Witness::new());
        p1.link.on(claims().first(1), Fault::LostReply);
        p1.link.on(all_calls().between(millis(1), secs(answered_after)), Fault::LostRequest);
        let first = p1.start(&witness, secs(5));
        sleep(millis(10)).await;
        let second = p2.start(&witness, secs(5));
        first.await.unwrap().expect("`run` tries again");
        second.await.unwrap().expect("P2 takes over by the normal rule");
        let claims = table.history_of("P1").into_iter().filter(|write| write.verb == Verb::Claim);
        let owners: BTreeSet<_> = claims.map(|write| write.record.owner.as_str().to_owned()).collect();
        assert!(owners.len() > 1, "a grant with too little left is tried again under a new id");
        let late = table.history()[0].record.fence;
        assert!(
            witness.stays().iter().all(|stay| stay.fence != late),
            "validity counts from the send: answered after {answered_after} s, none is left to start under"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn its_own_dead_record_is_somebody_elses_to_the_next_attempt() {
    let table = Table::new();
    let (p1, p2, witness) = (table.process("P1"), table.process("P2"), Witness::new());
    p1.link.on(all_calls().between(secs(5), secs(28)), Fault::Fails(ErrorKind::Unavailable));
    let lost = p1.work(&witness, secs(100)).await;
    assert!(matches!(lost, Err(LockError::Lost(_))), "out of contact past its deadline: {lost:?}");
    let dead = table.stored().expect("the record still stands");
    assert!(dead.record.expires > table.time(), "the replay: the old record has not expired yet");
    let (again, other) = (p1.start(&witness, secs(1)), p2.start(&witness, secs(1)));
    let (again, other) = (again.await.unwrap().expect("a hold"), other.await.unwrap().expect("a hold"));
    assert!(
        again > dead.record.fence && other > dead.record.fence,
        "I2: a fresh id and a higher fence for both"
    );
    let first_of_both = witness.stays()[1].from;
    assert!(
        first_of_both >= secs(32),
        "I1: the dead record is waited for like anyone's, and not resumed at {first_of_both:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn who_is_told_apart_by_nothing_but_the_id_still_is() {
    for [one, two] in [["web", "web"], ["node-1", "node-10"], ["a#1", "a"], ["", ""]] {
        let table = Table::new();
        let processes = [table.process(one), table.process(two)];
        contend(&table, &processes).await;
    }
}

#[tokio::test(start_paused = true)]
async fn two_engines_of_one_process_are_two() {
    let table = Table::new();
    let p1 = table.process("P1");
    let engine = Engine::builder(p1.link.clone()).label("P1").on_callers_runtime().build().unwrap();
    let twin = Process { engine, ..p1.clone() };
    contend(&table, &[p1, twin]).await;
}

async fn contend(table: &Table, processes: &[Process]) {
    let witness = Witness::new();
    let tasks: Vec<_> =
        processes.iter().cycle().take(8).map(|process| process.start(&witness, secs(15))).collect();
    for task in tasks {
        task.await.unwrap().expect("a turn for each");
    }
    let fences = table.fences();
    assert_eq!(fences.len(), 8, "I2: each hold was won by one claim of its own: {fences:?}");
}

#[tokio::test(start_paused = true)]
async fn a_release_that_lands_after_a_takeover_touches_nothing() {
    let table = Table::new();
    let (p1, p2, witness) = (table.process("P1"), table.process("P2"), Witness::new());
    p1.link.on(releases(), Fault::LandsLate(secs(40)));
    p1.work(&witness, secs(1)).await.expect("the result is unaffected by a release that failed");
    p2.work(&witness, secs(40)).await.expect("the successor is untouched");
    assert!(table.now() > secs(60), "the replay: the late releases have landed by now");
    assert!(
        table.history_of("P1").iter().all(|write| write.verb != Verb::Release),
        "I3: a release names the version that it continues, so it was refused"
    );
    let tried = p1.link.count(&[Verb::Release]);
    assert!(tried <= 3, "a release has a budget of 5 s, and no more than {tried} tries fit");
}

#[tokio::test(start_paused = true)]
async fn a_release_over_somebody_elses_record_touches_nothing() {
    let table = Table::new();
    let (p1, witness) = (table.process("P1"), Witness::new());
    let first = p1.start(&witness, secs(6));
    sleep(secs(5)).await;
    // Taken by force, and not noticed yet: the next heartbeat is due later than the end of the work.
    let thief = record("thief#1", table.time().plus(policy::TTL), 9_999_999_999_999);
    table.put(&thief);
    let asked = p1.link.writes();
    first.await.unwrap().expect("nothing of it was known while the work ran");
    assert_eq!(table.stored().unwrap().record, thief, "I3: it stays as it is");
    sleep(secs(20)).await;
    assert_eq!(p1.link.writes() - asked, 1, "I9: one release that is refused, and nothing more");
    assert_eq!(table.stored().unwrap().record, thief, "I3: nor is it touched later");
}

#[tokio::test(start_paused = true)]
async fn a_late_renewal_never_takes_the_lock_back() {
    let table = Table::new();
    let (h1, p2, witness) = (Host::new(&table, Clocks::RIGHT, 1), table.process("P2"), Witness::new());
    let p1 = h1.process(&table, "P1");
    let (gate, stay, process) = (h1.clone(), witness.clone(), p1.clone());
    let first = tokio::spawn(async move { gate.gate(process.work(&stay, secs(100))).await });
    sleep(millis(100)).await;
    h1.suspend();
    p2.work(&witness, secs(3)).await.expect("P2 takes over, and gives back");
    sleep(secs(40).saturating_sub(table.now())).await;
    let writes = p1.link.writes();
    h1.resume();
    let lost = first.await.unwrap();
    assert!(matches!(lost, Err(LockError::Lost(_))), "I4: the first holder is told: {lost:?}");
    sleep(secs(100)).await;
    assert_eq!(
        p1.link.writes(),
        writes,
        "I9: not one write after the deadline, though the record was free again"
    );
    assert!(table.is_free(), "nobody took it back");
}

#[tokio::test(start_paused = true)]
async fn a_lock_broken_by_force_is_noticed_at_the_next_heartbeat_and_not_made_anew() {
    let table = Table::new();
    let (p1, witness) = (table.process("P1"), Witness::new());
    let first = p1.start(&witness, secs(100));
    sleep(secs(12)).await;
    assert!(table.remove());
    let lost = match first.await.unwrap() {
        Err(LockError::Lost(lost)) => lost,
        other => panic!("I4: a loss is told, and not {other:?}"),
    };
    assert!(matches!(lost.cause(), LossCause::Vanished), "the cause names what happened: {:?}", lost.cause());
    assert!(table.now() <= secs(12) + policy::HEARTBEAT, "noticed at the next heartbeat");
    sleep(secs(60)).await;
    assert_eq!(table.stored(), None, "I9: extending never makes a record anew");
}

#[tokio::test(start_paused = true)]
async fn a_lock_taken_by_force_is_noticed_and_names_the_taker() {
    let table = Table::new();
    let (p1, witness) = (table.process("P1"), Witness::new());
    let first = p1.start(&witness, secs(100));
    sleep(secs(12)).await;
    let mut stolen = table.stored().unwrap().record;
    stolen.owner = tako::Owner::new("thief#1");
    table.put(&stolen);
    let lost = match first.await.unwrap() {
        Err(LockError::Lost(lost)) => lost,
        other => panic!("I4: a loss is told, and not {other:?}"),
    };
    let LossCause::Taken { by, .. } = lost.cause() else { panic!("taken, and not {:?}", lost.cause()) };
    assert_eq!(by.label(), "thief", "by whom");
    sleep(secs(60)).await;
    assert_eq!(table.stored().unwrap().record, stolen, "I3: the taker's record is untouched");
}
