//! Deterministic simulation of the real engine: several processes on machines with clocks of their own, a network
//! that loses, delays and repeats, a store with a clock of its own, and one seed that decides everything.
//!
//! Nothing of the engine is re-implemented: it runs in a `World` (`process`) over a `LeaseBackend` (`network`).
//! What happens becomes a history of events, and the checks ([`check`]) know nothing but that history.
//!
//! # What keeps it deterministic
//! One thread and one runtime for each seed; time moves only when nothing else can ([`calendar`]); each process draws
//! from a stream of its own ([`chance`]); ordered maps only, wherever their order could matter; no `select!`.

pub mod calendar;
pub mod chance;
pub mod check;
pub mod command;
pub mod event;
pub mod fleet;
pub mod history;
mod network;
pub mod plan;
mod planted;
mod plants;
pub mod process;
mod store;
pub mod timeline;
mod user;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use tako::Ctx;
use tako::backend::StoreTime;
use tako::simulation::BoxFuture;

use self::calendar::{Calendar, lock};
use self::check::Tally;
use self::event::Event;
use self::fleet::Fleet;
use self::history::History;
use self::plan::{Fault, Plan};
use self::process::Process;
use self::store::Store;

/// What all parts of one simulation share.
pub struct Simulation {
    pub(crate) plan: Plan,
    pub(crate) calendar: Arc<Calendar>,
    pub(crate) history: Mutex<History>,
    pub(crate) store: Mutex<Store>,
    is_quiet: AtomicBool,
    /// What was running in processes that were killed. Their destructors run when all is over, and nobody listens.
    graveyard: Mutex<Vec<BoxFuture<()>>>,
    is_over: AtomicBool,
}

impl Simulation {
    pub(crate) fn note(&self, event: Event) {
        if !self.is_over() {
            lock(&self.history).note(self.calendar.now(), event);
        }
    }

    /// Counts a fault that no event tells of.
    pub(crate) fn count(&self, fault: Fault) {
        lock(&self.history).checks.tally.faults[fault as usize] += 1;
    }

    pub(crate) fn violation(&self, what: String) {
        if !self.is_over() {
            lock(&self.history).checks.violation(self.calendar.now(), what);
        }
    }

    /// Buries what a killed process was at.
    pub(crate) fn bury(&self, task: Option<BoxFuture<()>>) {
        lock(&self.graveyard).extend(task);
    }

    /// Whether the history is closed.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    pub(crate) fn store_time(&self) -> StoreTime {
        Store::time(self.calendar.now())
    }

    /// Whether the faults are over.
    pub(crate) fn is_quiet(&self) -> bool {
        self.is_quiet.load(Ordering::Relaxed)
    }

    /// A user's work starts under `ctx`.
    pub(crate) fn started(&self, process: &Process, place: u8, call: u32, ctx: &Ctx) {
        let fence = ctx.fence().map_or(0, tako::Fence::get);
        let now = self.calendar.now();
        let mut history = lock(&self.history);
        let (process, local) = (process.number, process.now().as_nanos());
        history.note(now, Event::Started { process, lock: place, call, fence, local });
        history.checks.keep(now, place, call, ctx);
    }

    pub(crate) fn ended(&self, place: u8, call: u32) {
        self.note(Event::Ended { call });
        lock(&self.history).checks.let_go(place, call);
    }
}

/// The number of a lock, by its identity.
fn place(identity: &str) -> u8 {
    let is_named = |lock: &&&tako::prelude::Lock| identity.ends_with(lock.name());
    user::LOCKS
        .iter()
        .position(|lock| is_named(&lock))
        .and_then(|place| u8::try_from(place).ok())
        .unwrap_or(0)
}

/// What one seed came to.
pub struct Outcome {
    /// What it stood for.
    pub plan: Plan,
    /// Of the whole history.
    pub digest: u64,
    /// Counts of all kinds.
    pub tally: Tally,
    /// What was broken, and when.
    pub violations: Vec<(u64, String)>,
    /// Where it was asked for: the history.
    pub events: Vec<(u64, Event)>,
}

/// Runs what one seed stands for.
///
/// # Panics
/// When no runtime can be had.
pub fn run(plan: Plan, keeps_events: bool) -> Outcome {
    let length = plan.length;
    let simulation = Arc::new(Simulation {
        calendar: Arc::default(),
        history: Mutex::new(History::new(&plan, keeps_events)),
        store: Mutex::new(Store::new(&plan)),
        is_quiet: AtomicBool::new(false),
        graveyard: Mutex::default(),
        is_over: AtomicBool::new(false),
        plan,
    });
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let fleet = Fleet::new(simulation.clone());
        let is_over = Arc::new(AtomicBool::new(false));
        let (script, over) = (fleet.clone(), is_over.clone());
        drop(tokio::spawn(async move {
            script.live().await;
            over.store(true, Ordering::Relaxed);
        }));
        simulation.calendar.run(|| is_over.load(Ordering::Relaxed)).await;
        if !is_over.load(Ordering::Relaxed) {
            simulation.violation("I7: everything stands still".into());
        }
        fleet.bury();
        simulation.calendar.clear();
    });
    drop(runtime);
    let mut history = lock(&simulation.history);
    history.checks.finish(length);
    let outcome = Outcome {
        plan: simulation.plan.clone(),
        digest: history.digest(),
        events: history.events().to_vec(),
        tally: std::mem::take(&mut history.checks.tally),
        violations: std::mem::take(&mut history.checks.violations),
    };
    drop(history);
    simulation.is_over.store(true, Ordering::Relaxed);
    let dead = std::mem::take(&mut *lock(&simulation.graveyard));
    drop(dead);
    outcome
}
