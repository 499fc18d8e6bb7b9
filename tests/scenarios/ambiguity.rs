//! Every kind of ambiguous answer to every kind of write, once, twice and three times over. `ambiguity.md` is the table,
//! and says how to read it.

use std::time::Duration;

use tako::backend::{ErrorKind, Owner};
use tako::{Ctx, LockError, policy};
use tako_lock_tests::faulty::{Calls, Fault, Verb, beats, claims, releases};
use tako_lock_tests::matrix::cells;
use tako_lock_tests::table::Table;
use tako_lock_tests::witness::Witness;
use tako_lock_tests::{LOCK, millis, record, secs};
use tokio::time::{sleep, timeout};

/// What may befall a write without its sender's knowing what became of it, and throttling, which says so.
const AMBIGUITIES: [(&str, Fault); 9] = [
    ("reply lost", Fault::LostReply),
    ("503 after commit", Fault::FailsOnceApplied(ErrorKind::Unavailable)),
    ("reset after commit", Fault::FailsOnceApplied(ErrorKind::UnknownOutcome)),
    ("success, then 412", Fault::SentTwice),
    ("lands late", Fault::LandsLate(secs(5))),
    ("503, lands later", Fault::FailsThenLands(ErrorKind::Unavailable, millis(1_200))),
    ("request lost", Fault::LostRequest),
    ("429", Fault::Fails(ErrorKind::Throttled)),
    ("412, not written", Fault::Conflict),
];

/// Which writes it befalls.
#[derive(Debug, Clone, Copy)]
enum Write {
    Claim,
    Reclaim,
    Takeover,
    TryClaim,
    TryReclaim,
    TryTakeover,
    Beat,
    ThirdBeat,
    Release,
}

const WRITES: [Write; 9] = [
    Write::Claim,
    Write::Reclaim,
    Write::Takeover,
    Write::TryClaim,
    Write::TryReclaim,
    Write::TryTakeover,
    Write::Beat,
    Write::ThirdBeat,
    Write::Release,
];

impl Write {
    fn calls(self) -> Calls {
        match self {
            Write::Beat => beats(),
            Write::ThirdBeat => beats().after(2),
            Write::Release => releases(),
            _ => claims(),
        }
    }

    /// Past the heartbeat in question, and the one that follows.
    fn work(self) -> Duration {
        match self {
            Write::Beat => secs(25),
            Write::ThirdBeat => secs(45),
            _ => secs(1),
        }
    }

    fn is_try(self) -> bool {
        matches!(self, Write::TryClaim | Write::TryReclaim | Write::TryTakeover)
    }

    /// A table on which it is the next claim that is made.
    async fn table(self) -> Table {
        let table = Table::new();
        match self {
            Write::Reclaim | Write::TryReclaim => {
                drop(table.process("before").work(&Witness::new(), millis(1)).await);
            }
            Write::Takeover | Write::TryTakeover => {
                table.put(&record("dead#1", table.time().plus(policy::TTL), 7));
                sleep(secs(33)).await;
            }
            _ => {}
        }
        table
    }
}

/// What comes of a write that goes wrong `times` times, as `ambiguity.md` has it.
async fn play(write: Write, fault: Fault, times: u32) -> String {
    let table = write.table().await;
    let p1 = table.process("P1");
    p1.link.on(write.calls().first(times), fault);
    let (witness, asked, claims_before) = (Witness::new(), table.now(), table.fences().len());
    // Longer than any ambiguity may hold it up.
    let most = write.work() + secs(20);
    let work = async |ctx: Ctx| {
        let fence = witness.work("P1", &ctx, write.work()).await;
        let holder = table.stored().map(|stored| stored.record.owner);
        assert_eq!(holder.as_ref().map(Owner::label), Some("P1"), "the record names who is at work");
        fence
    };
    let ctx = p1.ctx();
    let call = async {
        if write.is_try() { LOCK.try_run(&ctx, work).await } else { LOCK.run(&ctx, work).await.map(Some) }
    };
    let got = match timeout(most, call).await {
        Err(_) => "waits",
        Ok(Ok(Some(fence))) => {
            assert_eq!(
                table.fences()[claims_before..],
                [fence],
                "one claim was carried out, and it is the one"
            );
            "ran"
        }
        Ok(Ok(None)) => "busy",
        Ok(Err(LockError::Unavailable { .. })) => "unknown",
        Ok(Err(LockError::Lost(_))) => "lost",
        Ok(Err(error)) => panic!("no other error: {error}"),
    };
    assert!(!write.is_try() || table.now() - asked <= secs(9), "one attempt is short");
    // Until what is settled in the background has been, and what lands late has landed.
    sleep(secs(12)).await;
    let left = match table.stored() {
        None => "none",
        Some(stored) if stored.record.is_released() => "free",
        Some(stored) if stored.record.owner.label() == "P1" => "lapses",
        Some(_) => "others",
    };
    let [loads, claims, beats, releases] =
        [Verb::Load, Verb::Claim, Verb::Beat, Verb::Release].map(|verb| p1.link.count(&[verb]));
    settles(&table).await;
    let starts = witness.starts("P1");
    assert_eq!(starts, usize::from(matches!(got, "ran" | "lost")), "only a grant starts the work, and once");
    format!("{got} {loads} {claims} {beats} {releases} {left}")
}

/// Once all has settled the lock can be had, under a higher fence than any before.
async fn settles(table: &Table) {
    sleep(secs(60)).await;
    let highest = table.stored().map(|stored| stored.record.fence);
    let next = table.process("next").try_work(&Witness::new(), millis(1)).await;
    let fence = next.expect("I6: the lock can be had");
    assert!(fence.is_some(), "I7: nothing is left of it");
    assert!(fence > highest, "I2: a higher fence");
}

#[tokio::test(start_paused = true)]
async fn each_ambiguity_of_each_write_comes_out_as_the_table_says() {
    let table = cells(include_str!("ambiguity.md"));
    let mut wrong = Vec::new();
    for (name, fault) in AMBIGUITIES {
        for times in 1..=3 {
            for write in WRITES {
                let row = format!("{name} × {times}");
                eprintln!("{row} at {write:?}");
                let seen = play(write, fault, times).await;
                let told = table.get(&(row.clone(), format!("{write:?}")));
                if told != Some(&seen) {
                    wrong.push(format!("{row} | {write:?} | told {told:?}, seen `{seen}`"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(table.len(), AMBIGUITIES.len() * 3 * WRITES.len(), "and nothing else stands there");
}

#[tokio::test(start_paused = true)]
async fn an_ambiguous_write_of_every_kind_at_once_still_excludes() {
    for (_, fault) in AMBIGUITIES {
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
    settles(&table).await;
}
