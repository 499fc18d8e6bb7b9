//! The command `simulate`: many seeds, one on each thread at a time, and one line that sums them up.

use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use super::calendar::{SECOND, lock};
use super::check::Tally;
use super::plan::Plan;
use super::{Outcome, timeline};

const USAGE: &str = "usage: simulate [--seeds N] [--from S] [--hours H | --minutes M] [--threads T] [--stop] [--timeline]

  --seeds N     how many seeds (1000)
  --from S      the first one (0)
  --hours H     simulated hours for each (1)
  --minutes M   or minutes
  --limit S     start no seed after so many seconds
  --threads T   how many run at once (all cores)
  --stop        end with the first seed that breaks something
  --planted [P] build an engine with known mistakes in it, and show that each is found (those with P in their names)
  --timeline    write the history of every seed, not only of those that break something

A lease-hour is an hour of one lock, campaigned for by all nodes.";

/// What is to be run.
#[allow(clippy::struct_excessive_bools, reason = "switches of a command")]
#[derive(Debug, Clone, Copy)]
pub struct Order {
    /// The first seed.
    pub from: u64,
    /// How many.
    pub seeds: u64,
    /// Simulated minutes for each.
    pub minutes: u64,
    /// Starts no seed after so many seconds.
    pub limit: u64,
    /// How many at once.
    pub threads: usize,
    /// One in so many is run twice, and must come out the same.
    pub again: u64,
    /// End with the first seed that breaks something.
    pub stops: bool,
    /// Write no history at all.
    pub silent: bool,
    /// Write every history.
    pub timeline: bool,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Summary {
    /// All counts.
    pub tally: Tally,
    /// Of all seeds together.
    pub digest: u64,
    /// What was broken, and how to see it again.
    pub violations: Vec<String>,
    /// How many seeds broke something, and the first of them.
    pub broken: u64,
    /// See above.
    pub first: Option<u64>,
}

/// Runs the command.
pub fn main() -> ExitCode {
    let mut words = std::env::args().skip(1).peekable();
    if words.next_if(|word| word == "--planted").is_some() {
        return super::planted::main(words.next().as_deref());
    }
    let Some(order) = parse(words) else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let began = Instant::now();
    let summary = run(order);
    for violation in &summary.violations {
        eprintln!("{violation}");
    }
    let took = began.elapsed().as_secs_f64();
    #[allow(clippy::cast_precision_loss, reason = "a rate for people")]
    let pace = summary.tally.lock_time as f64 / SECOND as f64 / 3_600.0 / took;
    let (tally, broken, digest) = (&summary.tally, summary.violations.len(), summary.digest);
    println!(
        "{tally}, seeds {}, {took:.1} s, {pace:.1} lease-hours/s, digest {digest:016x}, violations {broken}",
        tally.seeds
    );
    if let Some(first) = summary.first {
        println!("{} of {} seeds broke something, the first is {first}", summary.broken, tally.seeds);
    }
    if broken == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn parse(mut words: impl Iterator<Item = String>) -> Option<Order> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut order = Order {
        from: 0,
        seeds: 1_000,
        minutes: 60,
        limit: u64::MAX,
        threads,
        again: 100,
        stops: false,
        silent: false,
        timeline: false,
    };
    while let Some(word) = words.next() {
        let mut number = || words.next()?.parse::<u64>().ok();
        match word.as_str() {
            "--seeds" => order.seeds = number()?,
            "--from" => order.from = number()?,
            "--hours" => order.minutes = number()?.clamp(1, 5) * 60,
            "--minutes" => order.minutes = number()?.clamp(1, 300),
            "--limit" => order.limit = number()?,
            "--threads" => order.threads = usize::try_from(number()?.clamp(1, 256)).ok()?,
            "--silent" => order.silent = true,
            "--stop" => order.stops = true,
            "--timeline" => order.timeline = true,
            _ => return None,
        }
    }
    Some(order)
}

/// Runs all seeds of `order`.
pub fn run(order: Order) -> Summary {
    let began = Instant::now();
    let next = AtomicU64::new(0);
    let stop = AtomicBool::new(false);
    let summary = Mutex::new(Summary::default());
    std::thread::scope(|scope| {
        for _ in 0..order.threads {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) && began.elapsed().as_secs() < order.limit {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= order.seeds {
                        return;
                    }
                    let violations = one(order, order.from + number, &summary);
                    if violations > 100 || (order.stops && violations > 0) {
                        // The rest would say the same.
                        stop.store(true, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    let mut summary = summary.into_inner().unwrap_or_default();
    summary.violations.extend(summary.tally.violations());
    summary
}

/// Runs one seed; tells how many violations there are by now.
fn one(order: Order, seed: u64, summary: &Mutex<Summary>) -> usize {
    let plan = Plan::new(seed, order.minutes * 60 * SECOND);
    let outcome = super::run(plan.clone(), order.timeline);
    let mut violations = Vec::new();
    if seed.is_multiple_of(order.again) {
        let again = super::run(plan, false).digest;
        if again != outcome.digest {
            violations.push(format!("seed {seed}: run again, it came out otherwise"));
        }
    }
    if !outcome.violations.is_empty() {
        violations.push(report(&outcome, order.silent));
    } else if order.timeline {
        write(&outcome);
    }
    let mut summary = lock(summary);
    summary.tally.add(&outcome.tally);
    // In whatever order the threads end.
    summary.digest = summary.digest.wrapping_add(outcome.digest);
    if !violations.is_empty() {
        summary.broken += 1;
        summary.first = Some(summary.first.map_or(seed, |first| first.min(seed)));
    }
    summary.violations.append(&mut violations);
    summary.violations.len()
}

fn report(outcome: &Outcome, is_silent: bool) -> String {
    let (seed, minutes) = (outcome.plan.seed, outcome.plan.length / SECOND / 60);
    let mut report = format!("seed {seed} ({:?}):", outcome.plan.class);
    for (at, what) in outcome.violations.iter().take(5) {
        _ = write!(report, "\n  {} {what}", timeline::clock(*at));
    }
    if is_silent {
        return report;
    }
    // The same again, this time with every event kept.
    let kept = super::run(outcome.plan.clone(), true);
    for path in write(&kept) {
        _ = write!(report, "\n  history: {}", path.display());
    }
    _ = write!(
        report,
        "\n  replay: cargo run --release -p tako-lock-tests --bin simulate -- --from {seed} --seeds 1 --minutes {minutes} --timeline"
    );
    report
}

/// Writes the history as text and as a picture; tells where.
fn write(outcome: &Outcome) -> Vec<PathBuf> {
    let folder = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    let folder = folder.join("simulation");
    let seed = outcome.plan.seed;
    let files = [("txt", timeline::text(outcome)), ("svg", timeline::picture(outcome))];
    let mut written = Vec::new();
    for (kind, text) in files {
        let path = folder.join(format!("seed-{seed}.{kind}"));
        let done = std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&path, text));
        match done {
            Ok(()) => written.push(path),
            Err(error) => eprintln!("{} could not be written: {error}", path.display()),
        }
    }
    written
}
