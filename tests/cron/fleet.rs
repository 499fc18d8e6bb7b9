//! Five replicas with wrong clocks over thousands of ticks, while chance stops, crashes, restarts and cuts them off, and
//! sets their clocks.
//!
//! The ledger fails the test as soon as a tick is begun twice, or two run at once. How often a tick was not run at all is
//! counted and told.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use tako::backend::ErrorKind;
use tako::cron::{CronConfig, Outcome, Tick};
use tako_lock_tests::faulty::{Calls, Fault, all_calls, beats, claims, clock, loads, releases};
use tako_lock_tests::{millis, secs};
use tokio::time::sleep;

use crate::stage::{Instance, Stage, singleflight, singleton};

const REPLICAS: usize = 5;

/// Sebastiano Vigna's `SplitMix64`.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % bound
    }

    fn between(&mut self, least: i64, most: i64) -> i64 {
        least + i64::try_from(self.below(most.abs_diff(least))).unwrap_or(0)
    }

    fn calls(&mut self) -> Calls {
        match self.below(6) {
            0 => loads(),
            1 => clock(),
            2 => claims(),
            3 => releases(),
            4 => beats(),
            _ => all_calls(),
        }
    }

    fn fault(&mut self) -> Fault {
        let late = millis(self.below(45_000));
        match self.below(9) {
            0 => Fault::LostRequest,
            1 => Fault::LostReply,
            2 => Fault::LandsLate(late),
            3 => Fault::Fails(ErrorKind::Unavailable),
            4 => Fault::FailsOnceApplied(ErrorKind::Unavailable),
            5 => Fault::FailsThenLands(ErrorKind::UnknownOutcome, late),
            6 => Fault::SentTwice,
            7 => Fault::Conflict,
            _ => Fault::Slow { there: millis(self.below(2_900)), back: millis(self.below(2_900)) },
        }
    }
}

/// What the clock of replica `number` shows in excess, in milliseconds: one is right, one is out of all bounds.
fn skew(number: usize) -> i64 {
    [0, -3_000, 2_500, -25_000, 3_600_000][number]
}

/// Short for the most part; some outlive their next tick.
fn length(since: Duration) -> Duration {
    let mut chance = Chance(since.as_secs());
    match chance.below(10) {
        0 => millis(60_000 + chance.below(80_000)),
        1 | 2 => millis(chance.below(50_000)),
        _ => millis(50),
    }
}

struct Fleet {
    stage: Stage,
    config: CronConfig,
    chance: Chance,
    /// The tick from which the others are counted.
    origin: SystemTime,
    replicas: Vec<Instance>,
    /// How far each one's clock has been set off its skew.
    set: [i64; REPLICAS],
    restarts: usize,
    troubles: BTreeMap<&'static str, usize>,
}

impl Fleet {
    fn start(&mut self, number: usize) -> Instance {
        self.restarts += 1;
        let label = format!("P{number}.{}", self.restarts);
        self.set[number] = 0;
        let host = self.stage.host(&label, skew(number));
        let origin = self.origin;
        let length = move |tick: Tick| length(tick.scheduled.duration_since(origin).unwrap_or_default());
        self.stage.start_with(host, &label, &self.config, length)
    }

    /// One piece of trouble for one replica.
    fn trouble(&mut self) {
        let number = usize::try_from(self.chance.below(5)).unwrap_or(0);
        let what = match self.chance.below(10) {
            0..=4 => {
                let now = self.stage.table.now();
                let span = millis(self.chance.below(120_000));
                let calls = self.chance.calls().between(now, now + span);
                let few = 1 + u32::try_from(self.chance.below(5)).unwrap_or(0);
                let link = &self.replicas[number].process.link;
                link.heal();
                link.on(calls.first(few), self.chance.fault());
                "cut off"
            }
            5 => {
                let (host, span) = (self.replicas[number].host.clone(), millis(self.chance.below(200_000)));
                drop(tokio::spawn(async move {
                    host.suspend();
                    sleep(span).await;
                    host.resume();
                }));
                "stopped"
            }
            6 => {
                let next = self.start(number);
                std::mem::replace(&mut self.replicas[number], next).crash();
                "crashed"
            }
            7 => {
                let next = self.start(number);
                let last = std::mem::replace(&mut self.replicas[number], next);
                // Not all have the patience to wait for the work.
                let grace = millis(self.chance.below(60_000));
                drop(tokio::spawn(async move { drop(last.process.engine.shutdown(grace).await) }));
                "restarted"
            }
            _ => {
                let by = if self.set[number] == 0 {
                    self.chance.between(-600_000, 600_000)
                } else {
                    -self.set[number]
                };
                self.set[number] += by;
                self.replicas[number].host.set_clock(by);
                "clock set"
            }
        };
        *self.troubles.entry(what).or_default() += 1;
    }
}

async fn play(name: &str, config: CronConfig, seed: u64, ticks: u64) {
    let stage = Stage::new().await;
    let mut fleet = Fleet {
        stage: stage.clone(),
        config,
        chance: Chance(seed),
        origin: stage.tick(0),
        replicas: Vec::new(),
        set: [0; REPLICAS],
        restarts: 0,
        troubles: BTreeMap::new(),
    };
    for number in 0..REPLICAS {
        let replica = fleet.start(number);
        fleet.replicas.push(replica);
    }
    let first = stage.tick(1);
    let end = stage.table.now() + secs(60 * ticks) + secs(30);
    while stage.table.now() < end {
        let pause = millis(fleet.chance.below(300_000)).min(end.saturating_sub(stage.table.now()));
        sleep(pause).await;
        fleet.trouble();
    }
    let last = first + Duration::from_mins(ticks - 1);
    let began: Vec<_> =
        stage.starts().into_iter().filter(|(_, tick)| (first..=last).contains(&tick.scheduled)).collect();
    let mut outcomes: BTreeMap<&str, u64> = BTreeMap::new();
    for (_, report) in stage.reports() {
        let (what, count) = match report.outcome {
            Outcome::Ran { result: Ok(()), .. } => ("ran to their end", 1),
            Outcome::Ran { .. } => ("ran, and were told to stop", 1),
            Outcome::Claimed { .. } => ("skipped: claimed", 1),
            Outcome::Running { .. } => ("skipped: an earlier run goes on", 1),
            Outcome::Early { .. } => ("skipped: clock ahead", 1),
            Outcome::Unclaimed { .. } => ("skipped: no answer", 1),
            Outcome::Missed { ticks, .. } => ("missed", u64::from(ticks)),
            other => panic!("{other:?}"),
        };
        *outcomes.entry(what).or_default() += count;
    }
    let mut by_replica: BTreeMap<char, usize> = BTreeMap::new();
    for (who, _) in &began {
        *by_replica.entry(who.chars().nth(1).unwrap_or('?')).or_default() += 1;
    }
    println!(
        "{name}, seed {seed}: {ticks} ticks, {} begun, each once, none beside another; by replica: {by_replica:?}\n  \
         troubles: {:?}\n  what the replicas reported: {outcomes:?}",
        began.len(),
        fleet.troubles,
    );
    let count = u64::try_from(began.len()).unwrap_or(0);
    assert!(count * 10 >= ticks * 7, "trouble costs ticks, but not that many: {count} of {ticks}");
    for replica in &fleet.replicas {
        assert!(!replica.task.is_finished(), "nothing that befell it ends a schedule");
    }
}

#[tokio::test(start_paused = true)]
#[cfg_attr(debug_assertions, ignore = "minutes without optimisation: run it with --release")]
async fn ten_thousand_ticks_run_at_most_once_under_singleflight() {
    play("singleflight", singleflight(), 1, 10_000).await;
}

#[tokio::test(start_paused = true)]
#[cfg_attr(debug_assertions, ignore = "minutes without optimisation: run it with --release")]
async fn ten_thousand_ticks_have_never_two_runners_under_singleton() {
    play("singleton", singleton(), 1, 10_000).await;
}

/// Shorter, with many courses of events.
#[tokio::test(start_paused = true)]
async fn many_seeds_say_the_same() {
    for seed in 2..6 {
        play("singleflight", singleflight(), seed, 100).await;
        play("singleton", singleton(), seed, 100).await;
    }
}
