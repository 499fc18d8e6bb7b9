//! Clocks that are wrong, drift or stop, and who may decide that a holder is dead.

use tako::{LockError, policy};
use tako_lock_tests::faulty::{Fault, all_calls, clock};
use tako_lock_tests::host::{Clocks, Host};
use tako_lock_tests::table::Table;
use tako_lock_tests::witness::Witness;
use tako_lock_tests::{LOCK, millis, record, secs};
use tokio::time::sleep;

#[tokio::test(start_paused = true)]
async fn a_caller_that_only_ever_tries_gets_a_dead_lock() {
    let table = Table::new();
    let (p2, witness) = (table.process("P2"), Witness::new());
    table.put(&record("dead#1", table.time().plus(policy::TTL), 7));
    let mut tries = 1;
    while p2.try_work(&witness, secs(1)).await.expect("no error").is_none() {
        tries += 1;
        sleep(secs(60)).await;
    }
    assert_eq!(tries, 2, "a minute later the holder is certainly dead");
}

#[tokio::test(start_paused = true)]
async fn a_process_that_is_started_anew_for_each_try_gets_a_dead_lock() {
    let table = Table::new();
    let witness = Witness::new();
    table.put(&record("dead#1", table.time().plus(policy::TTL), 7));
    let mut tries = 1;
    while table.process("P2").try_work(&witness, secs(1)).await.expect("no error").is_none() {
        tries += 1;
        sleep(secs(300)).await;
    }
    assert_eq!(tries, 2, "it knows of the death by the store's clock, with nothing observed before");
}

#[tokio::test(start_paused = true)]
async fn a_crashed_holder_is_followed_within_a_lease_a_guard_and_a_poll() {
    for crash_at in [secs(1), secs(9), secs(11), millis(25_300)] {
        let table = Table::new();
        let (host, p2, witness) = (Host::new(&table, Clocks::RIGHT, 3), table.process("P2"), Witness::new());
        let p1 = host.process(&table, "P1");
        let (gate, stay) = (host.clone(), witness.clone());
        let crashed = tokio::spawn(async move { gate.gate(p1.work(&stay, secs(900))).await });
        sleep(millis(10)).await;
        let next = p2.start(&witness, secs(1));
        sleep(crash_at).await;
        host.suspend();
        next.await.unwrap().expect("a hold");
        let after = witness.last_start("P2").saturating_sub(crash_at);
        let owner = witness.stays()[0].fence;
        let last =
            table.history_of("P1").into_iter().rfind(|write| write.record.fence == owner).expect("a write");
        let left_alone = witness.last_start("P2") - last.at;
        assert!(
            left_alone >= policy::TTL + policy::GUARD,
            "I1: left alone for TTL + GUARD, not {left_alone:?}"
        );
        let bound = policy::TTL + policy::GUARD + policy::POLL * 5 / 4 + millis(100);
        assert!(after <= bound, "I6: followed within TTL + GUARD + POLL, and not after {after:?}");
        assert!(
            after >= policy::TTL - policy::HEARTBEAT,
            "I1: and not before its lease had run out: {after:?}"
        );
        crashed.abort();
    }
}

#[tokio::test(start_paused = true)]
async fn a_suspended_holder_learns_of_its_loss_on_its_first_look() {
    let table = Table::new();
    let (host, p2, witness) = (Host::new(&table, Clocks::RIGHT, 5), table.process("P2"), Witness::new());
    let p1 = host.process(&table, "P1");
    let (gate, stay, look) = (host.clone(), witness.clone(), host.clone());
    let process = p1.clone();
    let first = tokio::spawn(async move {
        let ctx = process.ctx();
        let work = LOCK.run(&ctx, async |ctx| {
            stay.enter("P1", &ctx);
            // Ends inside of the suspension, so the next poll of this very code is the first thing that runs.
            let worked = ctx.until_cancelled(look.gate(sleep(secs(8)))).await;
            assert_eq!(worked, None, "I4: work that stops with its context gets no further");
            assert!(ctx.is_cancelled(), "I4: cancelled before the first await returns");
            assert!(ctx.check().is_err(), "I4: the gate before an act is shut");
            assert_eq!(ctx.fence(), None, "I4: a lost hold has no fence to show");
            ctx.check()
        });
        gate.gate(work).await
    });
    sleep(secs(5)).await;
    host.suspend();
    sleep(secs(60)).await;
    // Seen by another witness: this one would look at P1's clock, and so tell it.
    let other = p2.try_work(&Witness::new(), secs(1)).await.expect("no error");
    assert!(other.is_some(), "the replay: somebody else has run in between");
    let writes = p1.link.writes();
    host.resume();
    let lost = first.await.unwrap();
    assert!(matches!(lost, Err(LockError::Lost(_))), "I4: its caller is told: {lost:?}");
    sleep(secs(100)).await;
    assert_eq!(p1.link.writes(), writes, "I9: and nothing is written in its name any more");
    assert_eq!(host.tasks(), 0, "I7: no task is left");
}

#[tokio::test(start_paused = true)]
async fn wrong_clocks_rob_nobody_and_strand_nobody() {
    let hour = 3_600;
    let table_of_clocks = [
        [(1_000, 0), (1_000, hour), (1_000, -hour)],
        [(950, 5 * hour), (1_050, -5 * hour), (1_000, 0)],
        [(1_050, 0), (950, 0), (975, 0)],
        [(952, -40), (1_048, 40), (1_050, 12 * hour)],
    ];
    for (seed, row) in table_of_clocks.into_iter().enumerate() {
        let table = Table::new();
        let witness = Witness::new();
        let mut tasks = Vec::new();
        for (number, (rate, ahead)) in row.into_iter().enumerate() {
            let seed = u64::try_from(seed * 10 + number).unwrap();
            let host = Host::new(&table, Clocks { rate, ahead }, seed + 1);
            let process = host.process(&table, &format!("P{number}"));
            let witness = witness.clone();
            tasks.push(tokio::spawn(async move {
                for round in 0..6 {
                    process.work(&witness, secs(5 + 13 * round)).await?;
                }
                Ok::<_, LockError>(())
            }));
        }
        for task in tasks {
            task.await.unwrap().expect("I5: nobody is robbed, whatever the clocks say");
        }
        assert_eq!(witness.stays().len(), 18, "I6: nobody is stranded");
    }
}

#[tokio::test(start_paused = true)]
async fn wrong_clocks_wait_for_a_dead_holder_as_long_as_right_ones() {
    for (rate, ahead) in [(1_000, 3_600), (1_000, -3_600), (1_050, 7_200), (950, -7_200)] {
        for tells_its_time in [true, false] {
            let table = Table::new();
            let witness = Witness::new();
            let slow = Host::new(&table, Clocks { rate: 950, ahead: -ahead }, 1);
            let p1 = slow.process(&table, "P1");
            let (gate, stay) = (slow.clone(), witness.clone());
            let dead = tokio::spawn(async move { gate.gate(p1.work(&stay, secs(900))).await });
            sleep(secs(15)).await;
            slow.suspend();
            let host = Host::new(&table, Clocks { rate, ahead }, 9);
            let p2 = host.process(&table, "P2");
            if !tells_its_time {
                p2.link.on(clock(), Fault::Fails(tako::backend::ErrorKind::Unavailable));
            }
            p2.work(&witness, secs(1)).await.expect("a hold");
            let waited = witness.last_start("P2").saturating_sub(secs(15));
            assert!(
                waited <= secs(40),
                "I6: rate {rate}, ahead {ahead} s, clock told {tells_its_time}: {waited:?}"
            );
            dead.abort();
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_store_shortens_leases_but_robs_nobody() {
    let table = Table::new();
    let witness = Witness::new();
    let (slow, fast) = (Clocks { rate: 950, ahead: 600 }, Clocks { rate: 1_050, ahead: -600 });
    let processes =
        [Host::new(&table, slow, 1).process(&table, "P1"), Host::new(&table, fast, 2).process(&table, "P2")];
    for process in &processes {
        process.link.on(all_calls(), Fault::Slow { there: millis(1_300), back: millis(1_300) });
    }
    let tasks: Vec<_> =
        processes.iter().cycle().take(6).map(|process| process.start(&witness, secs(65))).collect();
    for task in tasks {
        task.await.unwrap().expect("I5: a store that takes 2.6 s for each answer is slow, not gone");
    }
}

#[tokio::test(start_paused = true)]
async fn an_idle_hour_on_a_clock_that_drifts_costs_nobody_the_lock() {
    for rate in [950, 1_000, 1_050] {
        let table = Table::new();
        let witness = Witness::new();
        let p1 = Host::new(&table, Clocks { rate, ahead: 0 }, 4).process(&table, "P1");
        p1.work(&witness, secs(1)).await.expect("a hold, and with it the store's time");
        sleep(secs(3_600)).await;
        let tried = p1.try_work(&witness, secs(40)).await.expect("no error");
        assert!(tried.is_some(), "I6: a free lock is had at one attempt, at rate {rate}");
    }
}
