//! The invariants, each checked once, over a history of events and nothing else.
//!
//! - `writes`: I2, I3, I9, and that nobody takes over early: what is sent to the store, and what it carries out.
//! - `holds`: I1, I4, I5, the latch, and what callers are told.
//! - `bounds`: I6: how soon a free lock is won, after a release and after a crash.
//! - `budget`: I8: how many requests a process may send.
//!
//! I7 is a look at what is left at the end: see `fleet`. Each check says which faults excuse it.

mod bounds;
mod budget;
mod holds;
mod state;
mod tally;
mod writes;

use std::collections::BTreeMap;

use tako::Ctx;

use self::state::{Call, Owner, Process, Record};
pub use self::tally::{Share, Tally};
use super::event::{Event, Verb};
use super::plan::{Fault, Plan};

/// More than these are not kept.
const MOST_VIOLATIONS: usize = 20;

/// The checks of one history, and all that they need to know of it.
pub(crate) struct Checks {
    plan: Plan,
    /// What was broken, and when.
    pub(crate) violations: Vec<(u64, String)>,
    /// Counts.
    pub(crate) tally: Tally,
    /// By number; the first stands for none.
    owners: Vec<Owner>,
    records: Vec<Record>,
    calls: BTreeMap<u32, Call>,
    processes: BTreeMap<u32, Process>,
    /// The contexts of work that has not ended, by lock.
    contexts: Vec<Vec<(u32, Ctx)>>,
    is_quiet: bool,
}

impl Checks {
    pub(crate) fn new(plan: &Plan) -> Checks {
        Checks {
            plan: plan.clone(),
            violations: Vec::new(),
            tally: Tally::default(),
            owners: vec![Owner::default()],
            records: std::iter::repeat_with(Record::default).take(plan.locks).collect(),
            calls: BTreeMap::new(),
            processes: BTreeMap::new(),
            contexts: vec![Vec::new(); plan.locks],
            is_quiet: false,
        }
    }

    pub(crate) fn violation(&mut self, now: u64, what: String) {
        if self.violations.len() < MOST_VIOLATIONS {
            self.violations.push((now, what));
        }
    }

    /// What a body is for: the first one of an owner asks for the lease.
    pub(crate) fn verb(&self, owner: u32, expires: u64) -> Verb {
        match self.owners.get(owner as usize) {
            _ if expires == 0 => Verb::Release,
            // Where clock rates are off by half, a heartbeat may come to the claim's very expiry.
            Some(known) if known.claimed.is_some_and(|first| first != expires || known.bodies.len() > 1) => {
                Verb::Beat
            }
            _ => Verb::Claim,
        }
    }

    /// The process whose work runs under a lock.
    pub(crate) fn holder(&self, place: u8) -> Option<u32> {
        let owner = self.records.get(usize::from(place))?.owner;
        self.owners.get(owner as usize).map(|owner| owner.process)
    }

    pub(crate) fn observe(&mut self, now: u64, event: &Event) {
        self.budget(now, event);
        self.writes(now, event);
        self.holds(now, event);
        self.bounds(now, event);
        match *event {
            Event::Born { process, .. } => drop(self.processes.insert(process, Process::new(now))),
            Event::Sent { fault, .. } => {
                self.tally.requests += 1;
                if let Some(fault) = fault.filter(|fault| *fault != Fault::Partition) {
                    self.tally.faults[fault as usize] += 1;
                }
            }
            Event::Struck { fault, .. } | Event::Forced { fault, .. } => {
                self.tally.faults[fault as usize] += 1;
            }
            Event::Quiet => self.is_quiet = true,
            _ => {}
        }
    }

    /// What only the whole history tells.
    pub(crate) fn finish(&mut self, length: u64) {
        self.contexts.clear();
        self.tally.lock_time += length * self.plan.locks as u64;
        self.tally.seeds += 1;
        let Tally { holds, losses, .. } = self.tally;
        let class = self.tally.class(self.plan.class);
        (class.holds, class.losses) = (holds, losses);
    }
}
