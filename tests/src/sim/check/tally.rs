//! Counts of what was simulated.

use std::fmt;

use super::super::plan::{Class, Fault};

/// Counts over one seed or many.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// Seeds run.
    pub seeds: u64,
    /// Simulated time, once for each lock, in microseconds.
    pub lock_time: u64,
    /// Time that work ran under a lock.
    pub held_time: u64,
    /// Requests sent.
    pub requests: u64,
    /// Works started.
    pub holds: u64,
    /// Works that were told of a loss.
    pub losses: u64,
    /// By kind, in the order of [`Fault::ALL`].
    pub faults: [u64; 17],
    /// Holds and losses by class of seed.
    pub classes: [Share; 5],
    /// From a crash to the next grant, and from a release to the next grant, where a bound is promised.
    pub takeovers: Vec<u64>,
    /// See above.
    pub handovers: Vec<u64>,
}

/// What one class of seeds came to.
#[derive(Debug, Clone, Copy, Default)]
pub struct Share {
    /// Works started.
    pub holds: u64,
    /// Works that were told of a loss.
    pub losses: u64,
}

impl Tally {
    pub(crate) fn class(&mut self, class: Class) -> &mut Share {
        &mut self.classes[class as usize]
    }

    /// Adds another's counts.
    pub fn add(&mut self, other: &Tally) {
        self.seeds += other.seeds;
        self.lock_time += other.lock_time;
        self.held_time += other.held_time;
        self.requests += other.requests;
        self.holds += other.holds;
        self.losses += other.losses;
        self.faults.iter_mut().zip(other.faults).for_each(|(sum, count)| *sum += count);
        for (sum, share) in self.classes.iter_mut().zip(other.classes) {
            sum.holds += share.holds;
            sum.losses += share.losses;
        }
        self.takeovers.extend(&other.takeovers);
        self.handovers.extend(&other.handovers);
    }

    /// What only many seeds together can break: how often a lease is lost while requests fail.
    pub fn violations(&self) -> Vec<String> {
        let mut violations = Vec::new();
        let Share { holds, losses } = self.classes[Class::Flaky10 as usize];
        if losses > 0 {
            violations.push(format!("I5: {losses} of {holds} holds lost with 10 % of requests failing"));
        }
        let Share { holds, losses } = self.classes[Class::Flaky20 as usize];
        // One is no rate.
        if losses > 1 && losses * 200 > holds {
            violations.push(format!("I5: {losses} of {holds} holds lost with 20 % of requests failing"));
        }
        violations
    }

    /// How many faults there were.
    pub fn all_faults(&self) -> u64 {
        self.faults.iter().sum()
    }
}

/// A middle and the greatest, in seconds.
struct Spread<'a>(&'a [u64]);

impl fmt::Display for Spread<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut sorted = self.0.to_vec();
        sorted.sort_unstable();
        let at = |index: usize| sorted.get(index).map_or(0, |micros| micros / 1_000);
        let (middle, most) = (at(sorted.len() / 2), at(sorted.len().saturating_sub(1)));
        let seconds = |millis: u64| format!("{}.{:03} s", millis / 1_000, millis % 1_000);
        write!(f, "p50 {}, max {} of {}", seconds(middle), seconds(most), sorted.len())
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const HOUR: u64 = 3_600_000_000;
        write!(
            f,
            "lease-hours {}, held {}, requests {}, acquisitions {}, losses {}, faults {} (",
            self.lock_time / HOUR,
            self.held_time / HOUR,
            self.requests,
            self.holds,
            self.losses,
            self.all_faults()
        )?;
        for (index, fault) in Fault::ALL.iter().enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            write!(f, "{comma}{fault:?} {}", self.faults[index])?;
        }
        write!(f, "), takeover {}, hand-over {}", Spread(&self.takeovers), Spread(&self.handovers))?;
        let share = |class: Class| {
            let Share { holds, losses } = self.classes[class as usize];
            format!("{losses} of {holds}")
        };
        write!(f, ", lost at 10 % {}, at 20 % {}", share(Class::Flaky10), share(Class::Flaky20))
    }
}
