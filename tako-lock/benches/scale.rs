//! Many waiters on one lock, and many locks held at once: what each costs, and whether the cost of one grows with the
//! number of the others.
//!
//! `cargo bench -p tako-lock --bench scale`
//!
//! Stores: one that answers in place ([`Engine::memory`]), and one whose every answer takes a turn of the runtime.
//!
//! Hand-overs are in real time, from the end of one holder's code to the start of the next one's. Between two engines
//! one takes a look at the store, and so up to a poll; in one engine none should.
//!
//! Holds are on tokio's paused time, so what is told of them is CPU time of the one thread, where the system tells it;
//! the counting allocator is in it. All heartbeats are due at the same instant: the worst that a round can be. Memory is
//! what that thread has asked the allocator for and not given back. The resident set would hide what the allocator keeps
//! for itself, and differ from run to run.
//! - held: for each lock that is held, its task with it;
//! - peak: on top of that, while a round is under way;
//! - idle: for each lock that was held, as long as the engine lives, the record in the table with it;
//! - left: in total, once the engine is gone. Other than zero it is a leak.
#![allow(clippy::disallowed_methods, reason = "a benchmark reads real clocks and runs tasks of its own")]

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use allocation_counter::{AllocationInfo, measure};
use tako::backend::{BackendError, Key, LeaseBackend, MemoryLease, Record, StoreTime, Stored, Swap, Token};
use tako::policy::{HEARTBEAT, POLL};
use tako::prelude::*;
use tako::{Engine, LockError};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Semaphore;
use tokio::task::{JoinSet, yield_now};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

static CONTENDED: Lock = lock!("contended");

const WAITERS: usize = 64;
const WAVES: usize = 100;
/// Each waits for polls in real time, so they run side by side, on a lock each.
const SHARED_LOCKS: u32 = 24;

/// The jitter takes no more than a quarter off.
const SHORTEST_POLL: Duration = Duration::from_millis(1_500);
const _: () = assert!(POLL.as_millis() * 3 == SHORTEST_POLL.as_millis() * 4, "the pace of polls has changed");

const HOLDS: [u32; 3] = [1_000, 10_000, 100_000];
const ROUNDS: u32 = 5;

/// A table that answers at the next turn, as anything across a wire would at the earliest: each request then has its
/// future on the heap, and its timers are registered.
struct NextTurn(MemoryLease);

impl LeaseBackend for NextTurn {
    async fn load(&self, key: &Key) -> Result<Option<Stored>, BackendError> {
        yield_now().await;
        self.0.load(key).await
    }

    async fn swap(&self, key: &Key, expected: Option<&Token>, record: &Record) -> Result<Swap, BackendError> {
        yield_now().await;
        self.0.swap(key, expected, record).await
    }

    async fn now(&self) -> Result<StoreTime, BackendError> {
        yield_now().await;
        self.0.now().await
    }
}

fn next_turn() -> Engine {
    over(NextTurn(MemoryLease::new()))
}

fn over(backend: impl LeaseBackend) -> Engine {
    Engine::builder(backend).on_callers_runtime().build().expect("the defaults are legal")
}

/// The macro takes literals only, and nobody writes a hundred thousand of those.
fn leaked_names(prefix: &str, count: u32) -> Vec<&'static str> {
    (0..count).map(|number| &*format!("{prefix}-{number}").leak()).collect()
}

fn one_thread() -> Runtime {
    Builder::new_current_thread().enable_all().build().expect("a runtime")
}

// Hand-overs.

struct Tenure {
    engine: usize,
    entered: Instant,
    left: Instant,
}

/// Everybody waits in line before the first holder, which stays for `first_stay`, makes way.
async fn wave(engines: &[Engine], lock: &'static Lock, first_stay: Duration) -> Vec<Tenure> {
    let tenures = Arc::new(Mutex::new(Vec::with_capacity(WAITERS + 1)));
    let note = |tenures: &Mutex<Vec<Tenure>>, engine, entered| {
        let mut tenures = tenures.lock().unwrap_or_else(PoisonError::into_inner);
        tenures.push(Tenure { engine, entered, left: Instant::now() });
    };
    let mut waiters = JoinSet::new();
    let ctx = engines[0].ctx();
    let first = lock.run(&ctx, async |_ctx| {
        let entered = Instant::now();
        for waiter in 0..WAITERS {
            let engine = waiter % engines.len();
            let (ctx, tenures) = (engines[engine].ctx(), tenures.clone());
            waiters.spawn(async move {
                lock.run(&ctx, async |_ctx| {
                    let entered = Instant::now();
                    yield_now().await;
                    note(&tenures, engine, entered);
                    Ok::<_, LockError>(())
                })
                .await
            });
        }
        tokio::time::sleep(first_stay).await;
        note(&tenures, 0, entered);
        Ok::<_, LockError>(())
    });
    first.await.expect("it is free");
    for waited in waiters.join_all().await {
        waited.expect("it gets free");
    }
    std::mem::take(&mut *tenures.lock().unwrap_or_else(PoisonError::into_inner))
}

/// From the end of one holder's code to the start of the next one's.
#[derive(Default)]
struct HandOvers {
    within_engines: Vec<Duration>,
    between_engines: Vec<Duration>,
    /// From the first hand-over of a wave to the end of its last holder.
    waves: Vec<Duration>,
}

impl HandOvers {
    fn add(&mut self, tenures: &[Tenure]) {
        for pair in tenures.windows(2) {
            let [before, after] = pair else { continue };
            let is_within = before.engine == after.engine;
            let list = if is_within { &mut self.within_engines } else { &mut self.between_engines };
            list.push(after.entered - before.left);
        }
        if let [first, .., last] = tenures {
            self.waves.push(last.left - first.left);
        }
    }
}

fn at_percent(sorted: &[Duration], percent: usize) -> Duration {
    sorted.get(sorted.len() * percent / 100).or(sorted.last()).copied().unwrap_or_default()
}

fn print_hand_overs(what: &str, mut waves: Vec<Duration>, mut hand_overs: Vec<Duration>) {
    waves.sort_unstable();
    hand_overs.sort_unstable();
    let micros = |span: Duration| format!("{:.1}", span.as_secs_f64() * 1e6);
    let polled = hand_overs.iter().filter(|span| **span >= SHORTEST_POLL).count();
    println!(
        "{what:<44}{:>12}{:>14}{:>14}{:>14}{:>14}{polled:>10}",
        hand_overs.len(),
        micros(at_percent(&waves, 50)),
        micros(at_percent(&hand_overs, 50)),
        micros(at_percent(&hand_overs, 99)),
        micros(at_percent(&hand_overs, 100)),
    );
}

fn hand_overs_in_one_engine(what: &str, runtime: &Runtime, engine: impl FnOnce() -> Engine) {
    let mut hand_overs = HandOvers::default();
    runtime.block_on(async {
        let engines = [engine()];
        for _ in 0..WAVES {
            hand_overs.add(&wave(&engines, &CONTENDED, Duration::from_millis(5)).await);
        }
    });
    print_hand_overs(what, hand_overs.waves, hand_overs.within_engines);
}

fn hand_overs_between_engines() {
    let mut hand_overs = HandOvers::default();
    one_thread().block_on(async {
        let table = MemoryLease::new();
        let engines = [over(table.clone()), over(table)];
        let mut waves = JoinSet::new();
        for (number, name) in (1..).zip(leaked_names("shared", SHARED_LOCKS)) {
            let (engines, lock) = (engines.clone(), &*Box::leak(Box::new(tako::__private::named(name))));
            // The other engine looks in steps of a poll from the start on: the lock gets free at every phase of a step.
            let first_stay = POLL * number / SHARED_LOCKS;
            waves.spawn(async move { wave(&engines, lock, first_stay).await });
        }
        for tenures in waves.join_all().await {
            hand_overs.add(&tenures);
        }
    });
    let HandOvers { within_engines, between_engines, waves } = hand_overs;
    print_hand_overs("two engines, one table: within an engine", waves.clone(), within_engines);
    print_hand_overs("two engines, one table: between engines", waves, between_engines);
}

fn report_hand_overs() {
    println!(
        "Hand-overs: {WAITERS} tasks in line for one lock; times in µs; polled: waited for {SHORTEST_POLL:?} or longer"
    );
    println!(
        "{:<44}{:>12}{:>14}{:>14}{:>14}{:>14}{:>10}",
        "",
        "hand-overs",
        format!("all {WAITERS}"),
        "median",
        "99 of 100",
        "longest",
        "polled"
    );
    let four_threads = Builder::new_multi_thread().worker_threads(4).enable_all().build().expect("a runtime");
    hand_overs_in_one_engine("in place, one thread", &one_thread(), Engine::memory);
    hand_overs_in_one_engine("in place, four threads", &four_threads, Engine::memory);
    hand_overs_in_one_engine("at the next turn, one thread", &one_thread(), next_turn);
    hand_overs_in_one_engine("at the next turn, four threads", &four_threads, next_turn);
    hand_overs_between_engines();
}

// Holds.

/// What a task stands at from when it has what it wants until everybody is told to go.
#[derive(Clone)]
struct Gate {
    arrived: Arc<Semaphore>,
    open: CancellationToken,
    passed: Arc<Semaphore>,
}

impl Gate {
    fn new() -> Gate {
        let closed = || Arc::new(Semaphore::new(0));
        Gate { arrived: closed(), open: CancellationToken::new(), passed: closed() }
    }

    async fn pass(&self) {
        self.arrived.add_permits(1);
        self.open.cancelled().await;
    }
}

/// CPU time of this thread so far; real time where that cannot be had.
fn thread_time() -> Duration {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
    }
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    {
        static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
        START.get_or_init(Instant::now).elapsed()
    }
}

/// The cost of driving `work` to its end on `runtime`.
fn cost(runtime: &Runtime, work: impl Future<Output = ()>) -> (Duration, AllocationInfo) {
    let mut spent = Duration::ZERO;
    let memory = measure(|| {
        let started = thread_time();
        runtime.block_on(work);
        spent = thread_time().saturating_sub(started);
    });
    (spent, memory)
}

/// Paused time goes on only when nothing is left to do: whatever falls due within `span` is done when this ends.
async fn pass_time(span: Duration) {
    tokio::time::sleep(span).await;
}

async fn expiries(engine: &Engine, names: &[&str]) -> Vec<StoreTime> {
    let mut expiries = Vec::with_capacity(names.len());
    for name in names {
        let holder = engine.inspect(name).await.expect("the store answers").expect("it is held");
        expiries.push(holder.expires);
    }
    expiries
}

/// One task for each name, all at the gate at once; with an engine, each under its lock.
fn report_holds(what: &str, names: &[&'static str], make_engine: Option<fn() -> Engine>) {
    let runtime = Builder::new_current_thread().enable_all().start_paused(true).build().expect("a runtime");
    let count = u32::try_from(names.len()).expect("it was a `u32`");
    let (gate, tasks) = (Gate::new(), TaskTracker::new());
    // The runtime's queue grows with the tasks that are ready at once, and stays so: that is not the engine's memory.
    runtime.block_on(async {
        let tasks = TaskTracker::new();
        for _ in 0..2 * count {
            tasks.spawn(yield_now());
        }
        tasks.close();
        tasks.wait().await;
    });
    let mut engine = None;
    let (_, made) = cost(&runtime, async { engine = make_engine.map(|make| make()) });

    let (acquiring, acquired) = cost(&runtime, async {
        for name in names {
            let gate = gate.clone();
            match &engine {
                Some(engine) => {
                    let (ctx, lock) = (engine.ctx(), tako::__private::named(name));
                    tasks.spawn(async move {
                        let work = async |_ctx| {
                            gate.pass().await;
                            Ok::<_, LockError>(())
                        };
                        lock.run(&ctx, work).await.map(|()| gate.passed.add_permits(1))
                    });
                }
                None => drop(tasks.spawn(async move {
                    gate.pass().await;
                    gate.passed.add_permits(1);
                })),
            }
        }
        let all = gate.arrived.acquire_many(count).await;
        drop(all.expect("nobody closes it"));
    });

    // From here on, in the middle between two rounds, so that a span of a heartbeat has one round in it.
    let (_, settled) = cost(&runtime, pass_time(HEARTBEAT / 2));
    let before = engine.as_ref().map(|engine| runtime.block_on(expiries(engine, names)));
    let mut rounds: Vec<_> = (0..ROUNDS).map(|_| cost(&runtime, pass_time(HEARTBEAT))).collect();
    if let (Some(engine), Some(before)) = (&engine, before) {
        let after = runtime.block_on(expiries(engine, names));
        let is_renewed = |(before, after): (&StoreTime, &StoreTime)| {
            after.as_millis() - before.as_millis() >= u64::from(ROUNDS) * HEARTBEAT.as_secs() * 1_000
        };
        assert!(before.iter().zip(&after).all(is_renewed), "a round has not renewed every hold once");
    }

    let (releasing, released) = cost(&runtime, async {
        gate.open.cancel();
        tasks.close();
        tasks.wait().await;
    });
    assert_eq!(gate.passed.available_permits(), names.len(), "a hold was not given back in good order");
    // The keeper of heartbeats ends when it wakes and nothing is held.
    let (_, rested) = cost(&runtime, pass_time(HEARTBEAT * 2));
    let (_, dropped) = cost(&runtime, async {
        drop(engine);
        pass_time(HEARTBEAT).await;
    });

    let in_rounds: i64 = rounds.iter().map(|(_, memory)| memory.bytes_current).sum();
    let held = acquired.bytes_current + settled.bytes_current + in_rounds;
    let idle = held + released.bytes_current + rested.bytes_current;
    let left = made.bytes_current + idle + dropped.bytes_current;
    let peak = rounds.iter().map(|(_, memory)| memory.bytes_max).max().unwrap_or_default();
    rounds.sort_unstable_by_key(|(spent, _)| *spent);
    let round = rounds[rounds.len() / 2].0;
    let micros = |span: Duration| format!("{:.2}", span.as_secs_f64() * 1e6 / f64::from(count));
    println!(
        "{what:<24}{count:>9}{:>10}{:>10}{:>10}{:>12.1}{:>10}{:>12}{:>10}{left:>12}",
        micros(acquiring),
        micros(round),
        micros(releasing),
        round.as_secs_f64() * 1e3,
        held / i64::from(count),
        peak / u64::from(count),
        idle / i64::from(count),
    );
}

fn report_store(what: &str, names: &[&'static str], make_engine: Option<fn() -> Engine>) {
    for count in HOLDS {
        report_holds(what, &names[..count as usize], make_engine);
    }
}

fn main() {
    report_hand_overs();

    println!();
    println!("Holds: a task each, all at once; CPU time in µs a hold, memory in bytes a hold");
    let ctx = Engine::memory().ctx();
    let run = CONTENDED.run(&ctx, async |_ctx| Ok::<_, LockError>(()));
    println!("(of what is held, the future of `run` is {} bytes)", size_of_val(&run));
    drop(run);
    println!(
        "{:<24}{:>9}{:>10}{:>10}{:>10}{:>12}{:>10}{:>12}{:>10}{:>12}",
        "", "holds", "acquire", "a round", "release", "a round, ms", "held", "peak", "idle", "left"
    );
    let names = leaked_names("held", HOLDS.into_iter().max().unwrap_or_default());
    report_store("tasks, no lock", &names, None);
    report_store("in place", &names, Some(Engine::memory));
    report_store("at the next turn", &names, Some(next_turn));
}
