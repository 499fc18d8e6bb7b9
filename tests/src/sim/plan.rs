//! What one seed stands for: how many nodes and locks, which faults, how often, and which promises hold then.

use super::calendar::{MILLISECOND, SECOND};
use super::chance::Chance;

/// What can go wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Fault {
    /// A request or its answer takes long.
    Delay,
    /// A request never arrives.
    LostRequest,
    /// It is carried out, and no answer comes.
    LostReply,
    /// No answer comes, and it is carried out up to 45 s later.
    LandsLate,
    /// Refused by a failing server before it was carried out.
    Fails,
    /// Carried out by a server that fails then.
    FailsOnceApplied,
    /// Too many requests, out of the blue or because a record was written less than a second ago.
    Throttled,
    /// Carried out; the client's own retry was refused.
    Disguised,
    /// A node does not reach the store for a while, or hears nothing from it.
    Partition,
    /// A node's wall clock jumps.
    WallJump,
    /// A process stands still.
    Pause,
    /// A machine stands still, and its timers with it.
    Suspend,
    /// A process ends without a word.
    Crash,
    /// The record is deleted.
    Delete,
    /// An operator marks the record as free, or puts another owner in.
    ForceBreak,
    /// A caller drops its `run`.
    CallerDrop,
    /// An engine is shut down.
    Shutdown,
}

impl Fault {
    /// Every fault, in order.
    pub const ALL: [Fault; 17] = [
        Fault::Delay,
        Fault::LostRequest,
        Fault::LostReply,
        Fault::LandsLate,
        Fault::Fails,
        Fault::FailsOnceApplied,
        Fault::Throttled,
        Fault::Disguised,
        Fault::Partition,
        Fault::WallJump,
        Fault::Pause,
        Fault::Suspend,
        Fault::Crash,
        Fault::Delete,
        Fault::ForceBreak,
        Fault::CallerDrop,
        Fault::Shutdown,
    ];

    /// Those that befall a single request.
    pub const OF_REQUESTS: [Fault; 8] = [
        Fault::Delay,
        Fault::LostRequest,
        Fault::LostReply,
        Fault::LandsLate,
        Fault::Fails,
        Fault::FailsOnceApplied,
        Fault::Throttled,
        Fault::Disguised,
    ];
}

/// Which promises hold in a seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// The store is healthy and clocks are right; processes crash, end and are cancelled. Every time bound is strict.
    Healthy,
    /// One request in ten fails, and nothing else: no hold is lost.
    Flaky10,
    /// One in five: hardly any is.
    Flaky20,
    /// Any faults, within the bounds that exclusion is promised under.
    Swarm,
    /// Clock rates differ by half and users never look: fences and exact writes hold all the same.
    Wild,
}

/// How the store numbers versions. No number comes twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tokens {
    /// Each is higher than the last.
    Up,
    /// Each is lower.
    Down,
    /// In no order.
    Scattered,
}

/// One seed, spelt out.
#[allow(clippy::struct_excessive_bools, reason = "each is on or off by itself")]
#[derive(Debug, Clone)]
pub struct Plan {
    /// What it was made from.
    pub seed: u64,
    /// Which promises hold.
    pub class: Class,
    /// How many machines.
    pub nodes: usize,
    /// How many locks.
    pub locks: usize,
    /// How long the faults go on, in microseconds; a quiet end follows.
    pub length: u64,
    /// The least and the greatest time from node to store, and back.
    pub latency: (u64, u64),
    /// How often each fault befalls a request, in millionths, in the order of [`Fault::ALL`].
    pub rates: [u32; 17],
    /// How much likelier they befall whoever holds the lock.
    pub aim: u32,
    /// The store takes one write a second for each record.
    pub is_limited: bool,
    /// How versions are numbered.
    pub tokens: Tokens,
    /// The store tells when it applied a write.
    pub is_dated: bool,
    /// Requests run in tasks of their own.
    pub detaches: bool,
    /// How far clock rates may be off, in millionths.
    pub drift: u64,
    /// The mean time between two faults of nodes or operators.
    pub pace: u64,
    /// Which of these there are.
    pub node_faults: Vec<Fault>,
    /// One in so many callers goes away before its time.
    pub droppers: u64,
    /// Every hold's own clock is asked whenever another starts. Otherwise only users look, as in life.
    pub is_probed: bool,
    /// The longest time that a user wants the lock for.
    pub longest_hold: u64,
    /// The longest pause of a caller between two calls.
    pub longest_rest: u64,
}

impl Plan {
    /// What `seed` stands for, over so much time.
    pub fn new(seed: u64, length: u64) -> Plan {
        let mut chance = Chance::new(seed, 1);
        let class = match chance.below(16) {
            0 | 1 => Class::Healthy,
            2 => Class::Flaky10,
            3 => Class::Flaky20,
            4 => Class::Wild,
            _ => Class::Swarm,
        };
        let mut plan = Plan {
            seed,
            class,
            nodes: 3,
            locks: 1,
            length,
            latency: (2 * MILLISECOND, chance.between(5, 150) * MILLISECOND),
            rates: [0; 17],
            aim: chance.pick(&[1, 1, 3]),
            is_limited: false,
            tokens: chance.pick(&[Tokens::Up, Tokens::Down, Tokens::Scattered]),
            is_dated: true,
            detaches: chance.once_in(2),
            drift: if chance.once_in(4) { 0 } else { 50_000 },
            pace: chance.spread(20, 300) * SECOND,
            node_faults: Vec::new(),
            droppers: 0,
            is_probed: chance.once_in(2),
            longest_hold: chance.spread(2, 300) * SECOND,
            longest_rest: chance.spread(1, 1200) * SECOND,
        };
        plan.nodes += usize::try_from(chance.below(5)).unwrap_or(0);
        plan.locks += usize::try_from(chance.below(3)).unwrap_or(0);
        match class {
            Class::Healthy => {
                plan.node_faults = vec![Fault::Crash, Fault::Crash, Fault::Shutdown];
                plan.droppers = chance.pick(&[0, 10]);
                plan.drift = chance.pick(&[0, 50_000]);
            }
            Class::Flaky10 | Class::Flaky20 => {
                let sum = if class == Class::Flaky10 { 100_000 } else { 200_000 };
                // In equal parts: lost on the way there, on the way back, refused by a failing server, carried out
                // by one, disguised.
                for fault in [
                    Fault::LostRequest,
                    Fault::LostReply,
                    Fault::Fails,
                    Fault::FailsOnceApplied,
                    Fault::Disguised,
                ] {
                    plan.rates[fault as usize] = sum / 5;
                }
                plan.aim = 1;
            }
            Class::Swarm | Class::Wild => plan.swarm(&mut chance),
        }
        if class == Class::Wild {
            plan.drift = 500_000;
        }
        plan
    }

    /// Each kind of fault is there or not, and as frequent as it comes.
    fn swarm(&mut self, chance: &mut Chance) {
        for fault in Fault::OF_REQUESTS {
            if chance.once_in(2) {
                self.rates[fault as usize] = u32::try_from(chance.spread(1_000, 100_000)).unwrap_or(0);
            }
        }
        self.is_limited = chance.once_in(2);
        self.is_dated = !chance.once_in(4);
        self.droppers = if chance.once_in(2) { chance.between(2, 20) } else { 0 };
        for fault in [
            Fault::Partition,
            Fault::WallJump,
            Fault::Pause,
            Fault::Suspend,
            Fault::Crash,
            Fault::Delete,
            Fault::ForceBreak,
            Fault::Shutdown,
        ] {
            if chance.once_in(2) {
                self.node_faults.push(fault);
            }
        }
    }

    /// Whether exclusion by time is promised.
    pub fn is_bounded(&self) -> bool {
        self.class != Class::Wild
    }
}
