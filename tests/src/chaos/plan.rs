//! What befalls whom, drawn from a seed.

use std::time::Duration;

use super::POLICY;
use super::proxy::Weather;
use crate::millis;
use crate::sim::chance::Chance;

/// Whom it befalls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Aim {
    /// Whoever holds the lock.
    Holder,
    /// This one, whatever it does.
    Node(usize),
    /// All: the store itself is out of reach. Of the network's troubles only.
    All,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trouble {
    /// SIGKILL, and a new process in its place after a while.
    Kill,
    /// SIGSTOP, and SIGCONT after a while.
    Stop,
    Network(Weather),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Step {
    /// Since the step before.
    pub(super) pause: Duration,
    pub(super) aim: Aim,
    pub(super) trouble: Trouble,
    pub(super) length: Duration,
}

/// Steps without end.
#[derive(Debug)]
pub(super) struct Plan {
    chance: Chance,
    nodes: usize,
}

impl Plan {
    pub(super) fn new(seed: u64, nodes: usize) -> Plan {
        Plan { chance: Chance::new(seed, 1), nodes }
    }

    fn between(&mut self, low: Duration, high: Duration) -> Duration {
        let in_millis = |span: Duration| u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
        millis(self.chance.between(in_millis(low), in_millis(high)))
    }

    /// Half of them outlast the lease, so that a holder looks until its deadline.
    fn outage(&mut self) -> Duration {
        let least = if self.chance.once_in(2) { POLICY.ttl } else { millis(200) };
        self.between(least, millis(5_000))
    }
}

impl Iterator for Plan {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        let past_the_deadline = POLICY.ttl + POLICY.guard;
        let pause = self.between(millis(50), millis(700));
        let (trouble, length) = match self.chance.below(20) {
            0..5 => (Trouble::Kill, self.between(millis(50), millis(2_500))),
            // Most outlast the lease, some do not.
            5 => (Trouble::Stop, self.between(millis(100), POLICY.ttl)),
            6..10 => (Trouble::Stop, self.between(past_the_deadline, past_the_deadline + millis(1_700))),
            10..14 => (Trouble::Network(Weather::Cut), self.outage()),
            kind => {
                let weather = match kind {
                    14 => Weather::Stall { there: true, back: true },
                    15 => Weather::Stall { there: true, back: false },
                    16 => Weather::Stall { there: false, back: true },
                    17 => Weather::Delay(self.between(millis(20), millis(150))),
                    _ => Weather::Swallow,
                };
                (Trouble::Network(weather), self.outage())
            }
        };
        let aim = match self.chance.below(20) {
            0 if matches!(trouble, Trouble::Network(_)) => Aim::All,
            0..5 => Aim::Node(usize::try_from(self.chance.below(self.nodes as u64)).unwrap_or(0)),
            _ => Aim::Holder,
        };
        Some(Step { pause, aim, trouble, length })
    }
}

#[cfg(test)]
mod tests {
    use super::{Aim, Plan, Step, Trouble, Weather};

    #[test]
    fn a_seed_is_a_plan_and_has_all_of_it() {
        let steps: Vec<Step> = Plan::new(7, 5).take(300).collect();
        assert_eq!(steps, Plan::new(7, 5).take(300).collect::<Vec<_>>());
        assert_ne!(steps, Plan::new(8, 5).take(300).collect::<Vec<_>>());
        let count = |is_such: fn(&Step) -> bool| steps.iter().filter(|step| is_such(step)).count();
        assert!(count(|step| step.aim == Aim::Holder) > 200, "mostly the holder");
        assert!(count(|step| step.aim == Aim::All) > 0);
        for weather in [
            Weather::Cut,
            Weather::Swallow,
            Weather::Stall { there: true, back: true },
            Weather::Stall { there: true, back: false },
            Weather::Stall { there: false, back: true },
        ] {
            assert!(steps.iter().any(|step| step.trouble == Trouble::Network(weather)), "{weather:?}");
        }
        assert!(count(|step| step.trouble == Trouble::Kill) > 40);
        assert!(count(|step| step.trouble == Trouble::Stop) > 40);
        assert!(steps.iter().all(|step| step.aim != Aim::All || matches!(step.trouble, Trouble::Network(_))));
    }
}
