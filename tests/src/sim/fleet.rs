//! The machines, what befalls them, and the script of a simulation: faults, then quiet, then a look at what is left.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tako::{Engine, LockError};

use super::Simulation;
use super::calendar::{SECOND, lock};
use super::chance::Chance;
use super::event::Event;
use super::network::Link;
use super::plan::{Class, Fault};
use super::process::{Clocks, Machine, Process};
use super::user::{Caller, LOCKS};

/// All machines.
pub struct Fleet {
    simulation: Arc<Simulation>,
    nodes: Mutex<Vec<Node>>,
    /// Every process that was started.
    processes: Mutex<Vec<Arc<Process>>>,
    births: AtomicU32,
    chance: Mutex<Chance>,
}

struct Node {
    clocks: Arc<Clocks>,
    running: Option<Running>,
}

#[derive(Clone)]
struct Running {
    process: Arc<Process>,
    engine: Engine,
    is_closing: Arc<AtomicBool>,
}

impl Fleet {
    pub(crate) fn new(simulation: Arc<Simulation>) -> Arc<Fleet> {
        let mut chance = Chance::new(simulation.plan.seed, 5);
        let drift = simulation.plan.drift;
        let node = |chance: &mut Chance| Node {
            clocks: Arc::new(Clocks {
                rate: 1_000_000 - drift + chance.below(2 * drift + 1),
                origin: chance.between(60, 1_000_000) * 1_000_000_000,
                ahead: AtomicI64::new(i64::try_from(chance.below(120_001)).unwrap_or(0) - 60_000),
            }),
            running: None,
        };
        let nodes = std::iter::repeat_with(|| node(&mut chance)).take(simulation.plan.nodes).collect();
        Arc::new(Fleet {
            simulation,
            nodes: Mutex::new(nodes),
            processes: Mutex::default(),
            births: AtomicU32::new(0),
            chance: Mutex::new(chance),
        })
    }

    fn draw<T>(&self, draw: impl FnOnce(&mut Chance) -> T) -> T {
        draw(&mut lock(&self.chance))
    }

    async fn sleep(&self, micros: u64) {
        let calendar = &self.simulation.calendar;
        calendar.alarm(calendar.now() + micros).await;
    }

    fn start(&self, node: usize) {
        let running = self.boot(node, &lock(&self.nodes)[node].clocks.clone());
        let callers = self.draw(|chance| chance.between(1, 2));
        for place in (0..self.simulation.plan.locks).flat_map(|place| (0..callers).map(move |_| place)) {
            let caller = Caller {
                process: running.process.clone(),
                engine: running.engine.clone(),
                place: u8::try_from(place).unwrap_or(0),
                is_closing: running.is_closing.clone(),
            };
            running.process.start(Box::pin(caller.run()));
        }
        lock(&self.nodes)[node].running = Some(running);
    }

    fn boot(&self, node: usize, clocks: &Arc<Clocks>) -> Running {
        let number = self.births.fetch_add(1, Ordering::Relaxed) + 1;
        let node = u8::try_from(node).unwrap_or(u8::MAX);
        let process = Process::new(self.simulation.clone(), number, clocks.clone());
        self.simulation.note(Event::Born { process: number, node });
        lock(&self.processes).push(process.clone());
        let engine = Engine::builder(Link(process.clone()))
            .label(format!("n{node}.{number}"))
            .in_world(Arc::new(Machine(process.clone())))
            .build()
            .expect("an engine");
        Running { process, engine, is_closing: Arc::default() }
    }

    /// The whole script.
    pub(crate) async fn live(self: Arc<Self>) {
        let Simulation { plan, calendar, .. } = &*self.simulation;
        (0..plan.nodes).for_each(|node| self.start(node));
        while calendar.now() < plan.length {
            let pause = self.draw(|chance| chance.between(plan.pace / 4, plan.pace * 2));
            self.sleep(pause.min(plan.length - calendar.now()).max(1)).await;
            if calendar.now() < plan.length && !plan.node_faults.is_empty() {
                let fault = self.draw(|chance| chance.pick(&plan.node_faults));
                self.strike(fault);
            }
        }
        self.simulation.is_quiet.store(true, Ordering::Relaxed);
        self.simulation.note(Event::Quiet);
        self.wind_down().await;
    }

    /// Lets `fault` befall some node or record; every second time whoever holds a lock.
    fn strike(self: &Arc<Self>, fault: Fault) {
        let (place, aims, node) = self.draw(|chance| {
            let locks = self.simulation.plan.locks as u64;
            (chance.below(locks), chance.once_in(2), chance.below(self.simulation.plan.nodes as u64))
        });
        let place = u8::try_from(place).unwrap_or(0);
        let holder = lock(&self.simulation.history).checks.holder(place).filter(|_| aims);
        let (node, running) = {
            let nodes = lock(&self.nodes);
            let is_holder = |node: &Node| {
                node.running.as_ref().is_some_and(|running| Some(running.process.number) == holder)
            };
            let node = nodes.iter().position(is_holder).or(usize::try_from(node).ok()).unwrap_or(0);
            (node, nodes[node].running.clone())
        };
        let Some(running) = running else { return };
        let length = self.draw(|chance| chance.spread(SECOND / 2, 60 * SECOND));
        let (calendar, process) = (&self.simulation.calendar, running.process.clone());
        let (now, number) = (calendar.now(), process.number);
        match fault {
            Fault::Delete | Fault::ForceBreak => return self.force(place, fault),
            _ => self.simulation.note(Event::Struck { fault, process: number, length }),
        }
        match fault {
            Fault::Pause | Fault::Suspend => {
                let is_suspended = fault == Fault::Suspend;
                process.halt(is_suspended);
                calendar.at(now + length, move || {
                    process.simulation.note(Event::Well { process: number });
                    process.resume(is_suspended);
                });
            }
            Fault::Crash => {
                process.crash();
                self.restart(node, length);
            }
            Fault::Partition => {
                let ways = self.draw(|chance| chance.pick(&[[0, 0], [0, 1], [1, 1]]));
                for way in ways {
                    process.cut[way].store(now + length, Ordering::Relaxed);
                }
            }
            Fault::WallJump => {
                let hour = 3_600_000;
                let jump = self.draw(|chance| chance.below(2 * hour));
                let jump = i64::try_from(jump).unwrap_or(0) - i64::try_from(hour).unwrap_or(0);
                process.clocks.ahead.store(jump, Ordering::Relaxed);
            }
            Fault::Shutdown => self.shut_down(node, running, length),
            _ => {}
        }
    }

    fn force(&self, place: u8, fault: Fault) {
        let how = self.draw(|chance| chance.below(3));
        let now = self.simulation.calendar.now();
        let mut store = lock(&self.simulation.store);
        let record = if fault == Fault::Delete {
            store.delete(place).map(|_| None)
        } else {
            store.force(now, place, how).map(Some)
        };
        drop(store);
        let Some(record) = record else { return };
        let (owner, expires, fence) = record.map_or((0, 0, 0), |record| {
            let owner = lock(&self.simulation.history).owner(&record.owner);
            (owner, record.expires.as_millis(), record.fence.get())
        });
        self.simulation.note(Event::Forced { lock: place, fault, owner, expires, fence });
    }

    fn restart(self: &Arc<Self>, node: usize, after: u64) {
        lock(&self.nodes)[node].running = None;
        let fleet = self.clone();
        drop(tokio::spawn(async move {
            fleet.sleep(after).await;
            if !fleet.simulation.is_quiet() {
                fleet.start(node);
            }
        }));
    }

    fn shut_down(self: &Arc<Self>, node: usize, running: Running, grace: u64) {
        running.is_closing.store(true, Ordering::Relaxed);
        let is_cut = self.simulation.plan.node_faults.contains(&Fault::Partition);
        if is_cut && self.draw(|chance| chance.once_in(3)) {
            // What cannot be given back must be named.
            let until = self.simulation.calendar.now() + grace;
            running.process.cut[0].store(until, Ordering::Relaxed);
        }
        // Another process starts beside the one that drains, as in a rolling deployment.
        self.restart(node, grace / 2);
        let process = running.process.clone();
        let closing = async move {
            let shutdown = running.engine.shutdown(Duration::from_micros(grace)).await;
            let Process { simulation, number, .. } = &*running.process;
            let (process, local) = (*number, running.process.now().as_nanos());
            simulation.note(Event::Closed { process, is_clean: shutdown.is_clean(), local });
        };
        process.start(Box::pin(closing));
    }

    /// Everything ends, and nothing must be left of it.
    async fn wind_down(&self) {
        let idle =
            || lock(&self.processes).iter().all(|process| process.has_crashed() || process.tasks() == 0);
        for node in &mut *lock(&self.nodes) {
            if let Some(running) = &node.running {
                running.is_closing.store(true, Ordering::Relaxed);
            }
        }
        let mut left = 300;
        while !idle() && left > 0 {
            self.sleep(SECOND).await;
            left -= 1;
        }
        for process in &*lock(&self.processes) {
            if !process.has_crashed() && process.tasks() > 0 {
                let (number, tasks) = (process.number, process.tasks());
                self.simulation.violation(format!("I7: process {number} has {tasks} tasks left"));
            }
        }
        // The last that a crashed or hung process left behind has run out by then, also on the slowest clock. (No
        // write that lands later can revive it: its expiry has passed.)
        self.sleep(36 * SECOND).await;
        if self.simulation.plan.class == Class::Wild {
            return;
        }
        self.probe().await;
    }

    /// A newcomer gets every lock at its first try: I7.
    async fn probe(&self) {
        let clocks = Clocks { rate: 1_000_000, origin: 60 * SECOND * 1_000, ahead: AtomicI64::new(0) };
        let prober = self.boot(usize::from(u8::MAX), &Arc::new(clocks));
        let simulation = self.simulation.clone();
        let is_done = Arc::new(AtomicBool::new(false));
        let (engine, done) = (prober.engine.clone(), is_done.clone());
        prober.process.start(Box::pin(async move {
            for lock in LOCKS.iter().take(simulation.plan.locks) {
                let got = lock.try_run(&engine.ctx(), async |_| Ok::<_, LockError>(())).await;
                if !matches!(got, Ok(Some(()))) {
                    let held = engine.inspect(lock.name()).await;
                    let name = lock.name();
                    simulation.violation(format!("I7: {name} is not free at the end: {got:?}, {held:?}"));
                }
            }
            done.store(true, Ordering::Relaxed);
        }));
        self.sleep(20 * SECOND).await;
        if !is_done.load(Ordering::Relaxed) {
            self.simulation.violation("I7: the last look at the locks has not ended".into());
        }
    }

    /// What still runs is killed: its destructors would run in a world that is no more.
    pub(crate) fn bury(&self) {
        for process in std::mem::take(&mut *lock(&self.processes)) {
            process.crash();
        }
        lock(&self.nodes).clear();
    }
}
