//! The command `chaos`: one run, or one for each plant, and a line that sums it up.

use std::fmt;
use std::io;
use std::process::ExitCode;
use std::time::Duration;

use super::child;
pub use super::parent::{Order, Outcome, run};
use super::plant::Plant;

const USAGE: &str = "usage: chaos [--seconds N | --minutes M] [--seed S] [--processes P]
       chaos --planted [NAME]

  --seconds N    how long there is trouble (30)
  --minutes M    or minutes
  --seed S       decides what befalls whom (drawn, and told)
  --processes P  how many run side by side (5)
  --planted      make known mistakes, and show that each is found (those with NAME in their names)";

/// How long a plant has to be found.
const PLANTED: Duration = Duration::from_mins(2);

/// Runs the command.
pub fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let done = match words.split_first() {
        Some((first, rest)) if first == "child" => return child::main(rest),
        Some((first, rest)) if first == "--planted" => {
            planted(rest.first().map_or("", String::as_str)).map(Some)
        }
        _ => parse(&words).map_or(Ok(None), |order| order.and_then(|order| once(&order)).map(Some)),
    };
    match done {
        Ok(Some(true)) => ExitCode::SUCCESS,
        Ok(Some(false)) => ExitCode::FAILURE,
        Ok(None) => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
        Err(error) => {
            eprintln!("chaos could not be run: {error}");
            ExitCode::FAILURE
        }
    }
}

fn order(seed: u64) -> io::Result<Order> {
    let program = std::env::current_exe()?;
    Ok(Order { program, seed, length: Duration::from_secs(30), nodes: 5, plant: None })
}

fn parse(words: &[String]) -> Option<io::Result<Order>> {
    // Another seed each time: replaying one repeats the plan, and not what came of it.
    let mut order = match order(super::clock() % 1_000_000) {
        Ok(order) => order,
        Err(error) => return Some(Err(error)),
    };
    for pair in words.chunks(2) {
        let [word, number] = pair else { return None };
        let number: u64 = number.parse().ok()?;
        match word.as_str() {
            "--seconds" => order.length = Duration::from_secs(number),
            "--minutes" => order.length = Duration::from_mins(number),
            "--seed" => order.seed = number,
            "--processes" => order.nodes = usize::try_from(number.clamp(4, 64)).ok()?,
            _ => return None,
        }
    }
    Some(Ok(order))
}

fn once(order: &Order) -> io::Result<bool> {
    println!("seed {}: {:?} of trouble for {} processes", order.seed, order.length, order.nodes);
    let outcome = run(order)?;
    println!("{outcome}");
    Ok(outcome.violations().is_empty())
}

/// Runs each plant whose name contains `only`; tells whether all were found.
fn planted(only: &str) -> io::Result<bool> {
    let mut is_complete = true;
    for plant in Plant::ALL.into_iter().filter(|plant| plant.name().contains(only)) {
        // What ends in disorder shows at the end, and needs no trouble.
        let length = if plant == Plant::Leaky { Duration::ZERO } else { PLANTED };
        let began = std::time::Instant::now();
        let outcome = run(&Order { length, plant: Some(plant), ..order(1)? })?;
        let mut rules: Vec<&str> = outcome.violations().iter().filter_map(|text| text.get(..1)).collect();
        rules.sort_unstable();
        rules.dedup();
        let (rules, took) = (rules.join(", "), began.elapsed().as_secs_f64());
        let found = outcome.violations().first().map_or("SURVIVED", String::as_str);
        println!("{:<15} {took:>5.1} s  rules {rules}; {found}", plant.name());
        is_complete &= !outcome.violations().is_empty();
    }
    Ok(is_complete)
}

impl Outcome {
    /// What was broken.
    pub fn violations(&self) -> &[String] {
        &self.verdict.violations
    }

    /// How often the lock was had.
    pub fn acquisitions(&self) -> usize {
        self.verdict.counts.acquisitions
    }

    /// Kills, stops and cuts.
    pub fn faults(&self) -> [usize; 3] {
        [self.done.kills, self.done.stops, self.done.cuts]
    }

    /// How many late acts the register refused: those that no lock can prevent.
    pub fn late_acts(&self) -> usize {
        self.verdict.counts.refused
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (done, verdict, counts) = (&self.done, &self.verdict, &self.verdict.counts);
        for violation in verdict.violations.iter().take(20) {
            writeln!(f, "violation {violation}")?;
        }
        if let Some(folder) = &self.folder {
            writeln!(f, "evidence: {}", folder.display())?;
        }
        writeln!(
            f,
            "kills {}, stops {}, cuts {}, stalls {}, delays {}, answers swallowed {} times, at the holder {}; {} pieces touched",
            done.kills,
            done.stops,
            done.cuts,
            done.stalls,
            done.delays,
            done.swallows,
            done.at_holder,
            done.touched
        )?;
        writeln!(
            f,
            "acquisitions {}, losses {}, dropped {}; acts accepted {}, late and refused {}; flock found taken {}, looks split \
             by a stop {}",
            counts.acquisitions,
            counts.losses,
            counts.dropped,
            counts.accepted,
            counts.refused,
            counts.contended,
            counts.split
        )?;
        writeln!(
            f,
            "hand-over after a release {}, after a kill {}, after a loss {}",
            Times(&verdict.after_release),
            Times(&verdict.after_kill),
            Times(&verdict.after_loss)
        )?;
        write!(
            f,
            "seed {}, {:?}: stale acts {}, violations {}",
            self.order.seed,
            self.order.length,
            counts.stale,
            verdict.violations.len()
        )
    }
}

/// Sorted.
struct Times<'a>(&'a [Duration]);

impl fmt::Display for Times<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Some(middle), Some(last)) = (self.0.get(self.0.len() / 2), self.0.last()) else {
            return f.write_str("none");
        };
        write!(f, "p50 {:.2} s max {:.2} s ({})", middle.as_secs_f64(), last.as_secs_f64(), self.0.len())
    }
}
