//! A process on a machine: the engine's world. It has a clock of its own, can be stopped, put to sleep, and killed.

use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use tako::backend::StoreTime;
use tako::simulation::{BoxFuture, Moment, World};

use super::Simulation;
use super::calendar::{Alarm, SECOND, lock};
use super::chance::Chance;

/// The clocks of a machine.
pub struct Clocks {
    /// How fast the monotonic clock runs, in millionths of true time.
    pub rate: u64,
    /// What it shows when the simulation begins, in nanoseconds.
    pub origin: u64,
    /// What the wall clock shows in excess of the store's, in milliseconds.
    pub ahead: AtomicI64,
}

/// One process.
pub struct Process {
    pub(crate) simulation: Arc<Simulation>,
    pub(crate) number: u32,
    pub(crate) clocks: Arc<Clocks>,
    chance: Mutex<Chance>,
    /// For requests: what becomes of them must not depend on how often the engine draws.
    pub(crate) luck: Mutex<Chance>,
    /// How many pauses there are at once, and how many of them are suspends.
    halts: AtomicUsize,
    suspends: AtomicUsize,
    parked: Mutex<Vec<Waker>>,
    pub(crate) is_crashed: AtomicBool,
    is_stopped: AtomicBool,
    tasks: AtomicUsize,
    /// How long the machine has been in suspend altogether, and when on its own time that last began.
    suspended: AtomicU64,
    fell_asleep: AtomicU64,
    /// Until when requests, and answers, are cut off.
    pub(crate) cut: [AtomicU64; 2],
}

impl Process {
    pub(crate) fn new(simulation: Arc<Simulation>, number: u32, clocks: Arc<Clocks>) -> Arc<Process> {
        let seed = simulation.plan.seed;
        let stream = u64::from(number) << 8;
        Arc::new(Process {
            simulation,
            number,
            clocks,
            chance: Mutex::new(Chance::new(seed, stream + 2)),
            luck: Mutex::new(Chance::new(seed, stream + 3)),
            halts: AtomicUsize::new(0),
            suspends: AtomicUsize::new(0),
            parked: Mutex::default(),
            is_crashed: AtomicBool::new(false),
            is_stopped: AtomicBool::new(false),
            tasks: AtomicUsize::new(0),
            suspended: AtomicU64::new(0),
            fell_asleep: AtomicU64::new(0),
            cut: [AtomicU64::new(0), AtomicU64::new(0)],
        })
    }

    /// The monotonic clock, suspend included.
    pub(crate) fn now(&self) -> Moment {
        let running = self.simulation.calendar.now() * self.clocks.rate / 1_000;
        Moment::from_nanos(self.clocks.origin + running)
    }

    /// When the monotonic clock will show `at`, in true time.
    fn true_time(&self, at: Moment) -> u64 {
        let running = at.as_nanos().saturating_sub(self.clocks.origin);
        if running > u64::MAX / 1_000 { u64::MAX } else { (running * 1_000).div_ceil(self.clocks.rate) }
    }

    pub(crate) fn sleep(self: &Arc<Self>, micros: u64) -> Timer {
        let nanos = micros.saturating_mul(1_000);
        self.timer(Moment::from_nanos(self.now().as_nanos().saturating_add(nanos)))
    }

    fn timer(self: &Arc<Self>, at: Moment) -> Timer {
        let calendar = &self.simulation.calendar;
        calendar.guard();
        let suspended = self.suspended.load(Ordering::Relaxed);
        let alarm = calendar.alarm(self.true_time(at));
        Timer { process: self.clone(), at, began: calendar.now() - suspended, suspended, alarm }
    }

    /// Runs `task` in this process.
    pub(crate) fn start(self: &Arc<Self>, task: BoxFuture<()>) {
        self.tasks.fetch_add(1, Ordering::Relaxed);
        drop(tokio::spawn(Gated { process: self.clone(), task: Some(task), is_polled: false }));
    }

    pub(crate) fn draw<T>(&self, draw: impl FnOnce(&mut Chance) -> T) -> T {
        draw(&mut lock(&self.chance))
    }

    /// Stands still.
    pub(crate) fn halt(&self, is_suspended: bool) {
        self.halts.fetch_add(1, Ordering::Relaxed);
        if is_suspended && self.suspends.fetch_add(1, Ordering::Relaxed) == 0 {
            let own = self.simulation.calendar.now() - self.suspended.load(Ordering::Relaxed);
            self.fell_asleep.store(own, Ordering::Relaxed);
        }
    }

    /// Goes on, unless it has another reason not to.
    pub(crate) fn resume(&self, is_suspended: bool) {
        if is_suspended && self.suspends.fetch_sub(1, Ordering::Relaxed) == 1 {
            let own = self.fell_asleep.load(Ordering::Relaxed);
            self.suspended.store(self.simulation.calendar.now() - own, Ordering::Relaxed);
        }
        if self.halts.fetch_sub(1, Ordering::Relaxed) == 1 {
            mem::take(&mut *lock(&self.parked)).into_iter().for_each(Waker::wake);
        }
    }

    pub(crate) fn is_halted(&self) -> bool {
        self.halts.load(Ordering::Relaxed) > 0
    }

    /// Ends without a word: nothing of it runs again, and nothing is dropped.
    pub(crate) fn crash(&self) {
        self.is_crashed.store(true, Ordering::Relaxed);
        mem::take(&mut *lock(&self.parked)).into_iter().for_each(Waker::wake);
    }

    pub(crate) fn has_crashed(&self) -> bool {
        self.is_crashed.load(Ordering::Relaxed)
    }

    /// Tasks that have not ended.
    pub(crate) fn tasks(&self) -> usize {
        self.tasks.load(Ordering::Relaxed)
    }
}

/// The engine's side of a process.
pub(crate) struct Machine(pub(crate) Arc<Process>);

impl World for Machine {
    fn now(&self) -> Moment {
        self.0.now()
    }

    fn sleep_until(&self, at: Moment) -> BoxFuture<()> {
        Box::pin(self.0.timer(at))
    }

    fn spawn(&self, task: BoxFuture<()>) -> Result<(), BoxFuture<()>> {
        if self.0.is_stopped.load(Ordering::Relaxed) || self.0.simulation.is_over() {
            return Err(task);
        }
        self.0.start(task);
        Ok(())
    }

    fn is_reachable(&self) -> bool {
        !self.0.is_stopped.load(Ordering::Relaxed)
    }

    fn detaches_requests(&self) -> bool {
        self.0.simulation.plan.detaches
    }

    fn random(&self) -> u128 {
        self.0.draw(|chance| u128::from(chance.draw()) << 64 | u128::from(chance.draw()))
    }

    fn wall(&self) -> StoreTime {
        let store = self.0.simulation.store_time().as_millis();
        StoreTime::from_millis(store.saturating_add_signed(self.0.clocks.ahead.load(Ordering::Relaxed)))
    }

    fn stop(&self) {
        self.0.is_stopped.store(true, Ordering::Relaxed);
    }
}

/// Ends when the process's clock shows a certain time, and its machine notices.
pub(crate) struct Timer {
    process: Arc<Process>,
    at: Moment,
    /// When it was made, on the time that stands still in suspend.
    began: u64,
    suspended: u64,
    alarm: Alarm,
}

impl Future for Timer {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Process { suspended, fell_asleep, .. } = &*self.process;
        let suspended = suspended.load(Ordering::Relaxed);
        if suspended != self.suspended {
            // The engine looks at its clock once a second; a timer that was due in suspend is late by what was left
            // of that second then.
            let slept_after = fell_asleep.load(Ordering::Relaxed).saturating_sub(self.began);
            let noticed = self.began + slept_after.div_ceil(SECOND) * SECOND + suspended;
            self.suspended = suspended;
            let due = self.process.true_time(self.at).max(noticed);
            self.alarm.reset(due);
        }
        Pin::new(&mut self.alarm).poll(context)
    }
}

/// A task of a process: polled while that runs, and never dropped once it has crashed.
struct Gated {
    process: Arc<Process>,
    task: Option<BoxFuture<()>>,
    is_polled: bool,
}

impl Future for Gated {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.process.has_crashed() {
            return Poll::Ready(());
        }
        if self.process.is_halted() {
            lock(&self.process.parked).push(context.waker().clone());
            return Poll::Pending;
        }
        self.is_polled = true;
        let poll = self.task.as_mut().map_or(Poll::Ready(()), |task| task.as_mut().poll(context));
        self.is_polled = false;
        if poll.is_ready() {
            self.task = None;
        }
        poll
    }
}

impl Drop for Gated {
    fn drop(&mut self) {
        self.process.tasks.fetch_sub(1, Ordering::Relaxed);
        if self.process.has_crashed() {
            // Killed processes run no destructors.
            self.process.simulation.bury(self.task.take());
        }
        if self.is_polled {
            self.process.simulation.violation("panic: a task of the engine or of a user panicked".into());
        }
    }
}
