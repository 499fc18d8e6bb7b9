//! Everything at once, as chance has it: hosts with wrong clocks that are suspended now and then, over a network
//! that loses, delays and repeats. A seed decides it all, so that a failure can be replayed.

use std::time::Duration;

use tako::LockError;
use tako::backend::ErrorKind;
use tako_lock_tests::faulty::{Calls, Fault, all_calls, beats, claims, clock, loads, releases};
use tako_lock_tests::host::{Clocks, Host};
use tako_lock_tests::table::{Process, Table};
use tako_lock_tests::witness::Witness;
use tako_lock_tests::{millis, secs};
use tokio::time::{sleep, timeout};

const PROCESSES: u64 = 3;
const TROUBLE: Duration = secs(400);

/// Marsaglia's xorshift: enough to choose faults.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    fn calls(&mut self) -> Calls {
        let calls = match self.below(8) {
            0 => all_calls(),
            1 => loads(),
            2 => clock(),
            3 | 4 => claims(),
            5 => releases(),
            _ => beats(),
        };
        let from = millis(self.below(400_000));
        let length = millis(self.below(25_000));
        calls.between(from, (from + length).min(TROUBLE)).first(1 + u32::try_from(self.below(6)).unwrap_or(0))
    }

    fn fault(&mut self) -> Fault {
        let late = millis(self.below(45_000));
        match self.below(10) {
            0 => Fault::LostRequest,
            1 => Fault::LostReply,
            2 => Fault::LandsLate(late),
            3 => Fault::Fails(ErrorKind::Unavailable),
            4 => Fault::Fails(ErrorKind::Throttled),
            5 => Fault::FailsOnceApplied(ErrorKind::Unavailable),
            6 => Fault::FailsThenLands(ErrorKind::UnknownOutcome, late),
            7 => Fault::SentTwice,
            8 => Fault::Conflict,
            _ => Fault::Slow { there: millis(self.below(2_900)), back: millis(self.below(2_900)) },
        }
    }
}

/// Runs work of all lengths, as `run` and as `try_run`, until the trouble is over, and then once more.
async fn busy(host: Host, process: Process, witness: Witness, seed: u64) -> Result<(), LockError> {
    let mut chance = Chance(seed);
    let started = tokio::time::Instant::now();
    while started.elapsed() < TROUBLE {
        let length = millis(chance.below(40_000));
        let outcome = match chance.below(4) {
            0 => process.try_work(&witness, length).await.map(|_| ()),
            1 => {
                // A caller that goes away at some point.
                let _ = timeout(length, process.work(&witness, secs(60))).await;
                Ok(())
            }
            _ => process.work(&witness, length).await.map(|_| ()),
        };
        match outcome {
            Ok(()) | Err(LockError::Lost(_) | LockError::Unavailable { .. }) => {}
            Err(other) => return Err(other),
        }
        host.gate(sleep(millis(chance.below(5_000)))).await;
    }
    process.work(&witness, millis(100)).await.map(|_| ())
}

async fn play(seed: u64) {
    let mut chance = Chance(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let (table, witness) = (Table::new(), Witness::new());
    let mut running = Vec::new();
    for number in 0..PROCESSES {
        let rate = u32::try_from(950 + chance.below(101)).unwrap_or(1_000);
        let ahead = i64::try_from(chance.below(20_000)).unwrap_or(0) - 10_000;
        let host = Host::new(&table, Clocks { rate, ahead }, seed * PROCESSES + number);
        let process = host.process(&table, &format!("P{number}"));
        for _ in 0..chance.below(24) {
            process.link.on(chance.calls(), chance.fault());
        }
        let naps: Vec<_> = (0..chance.below(4))
            .map(|_| (millis(chance.below(100_000)), millis(chance.below(70_000))))
            .collect();
        let sleeper = host.clone();
        drop(tokio::spawn(async move {
            for (pause, length) in naps {
                sleep(pause).await;
                sleeper.suspend();
                sleep(length).await;
                sleeper.resume();
            }
        }));
        let work = busy(host.clone(), process, witness.clone(), seed * 31 + number + 1);
        let gate = host.clone();
        running.push((host, tokio::spawn(async move { gate.gate(work).await })));
    }
    let mut hosts = Vec::new();
    for (host, task) in running {
        let outcome = timeout(TROUBLE * 4, task)
            .await
            .unwrap_or_else(|_| panic!("I6: everybody gets a turn once the trouble is over (seed {seed})"))
            .unwrap_or_else(|panic| panic!("seed {seed}: {panic}"));
        outcome.unwrap_or_else(|error| panic!("no error but those of the trouble (seed {seed}): {error}"));
        hosts.push(host);
    }
    sleep(secs(120)).await;
    for host in &hosts {
        assert_eq!(host.tasks(), 0, "I7: no task is left (seed {seed})");
    }
    let next = table.process("next").try_work(&Witness::new(), millis(1)).await;
    assert!(matches!(next, Ok(Some(_))), "I7: the record is free to take (seed {seed}): {next:?}");
}

#[tokio::test(start_paused = true)]
async fn chance_never_lets_two_in() {
    for seed in 1..=60 {
        play(seed).await;
    }
}
