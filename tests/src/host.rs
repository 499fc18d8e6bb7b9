//! A host with clocks of its own: a wall clock that is wrong, a monotonic clock that runs fast or slow, and a lid
//! that can be shut.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::time::Duration;

use tako::Engine;
use tako::backend::StoreTime;
use tako::simulation::{BoxFuture, Moment, World};
use tokio::time::Instant;

use crate::faulty::lock;
use crate::table::{Process, Table};

/// How a host's clocks err.
#[derive(Debug, Clone, Copy)]
pub struct Clocks {
    /// How fast the monotonic clock runs, in thousandths of true time.
    pub rate: u32,
    /// What the wall clock shows in excess of true time, in seconds.
    pub ahead: i64,
}

/// One host. Its monotonic clock counts the time that it is suspended.
#[derive(Clone)]
pub struct Host {
    state: Arc<State>,
}

struct State {
    clocks: Clocks,
    started: Instant,
    wall: StoreTime,
    /// Monotonic clocks of different hosts have nothing in common.
    origin: Duration,
    /// By how much the wall clock has been set since, in milliseconds.
    set: AtomicI64,
    is_suspended: AtomicBool,
    sleepers: Mutex<Vec<Waker>>,
    chance: Mutex<u64>,
    tasks: AtomicUsize,
}

impl Clocks {
    /// Clocks as they should be.
    pub const RIGHT: Clocks = Clocks { rate: 1_000, ahead: 0 };
}

impl Host {
    /// A host with these clocks, which draws its chance from `seed`.
    pub fn new(table: &Table, clocks: Clocks, seed: u64) -> Host {
        let wall = table.time().as_millis().saturating_add_signed(clocks.ahead * 1_000);
        Host {
            state: Arc::new(State {
                clocks,
                started: Instant::now(),
                wall: StoreTime::from_millis(wall),
                origin: Duration::from_secs(1_000 + seed * 77),
                set: AtomicI64::new(0),
                is_suspended: AtomicBool::new(false),
                sleepers: Mutex::default(),
                chance: Mutex::new(seed),
                tasks: AtomicUsize::new(0),
            }),
        }
    }

    /// A process on this host.
    ///
    /// # Panics
    /// When the engine cannot be built.
    pub fn process(&self, table: &Table, label: &str) -> Process {
        let (link, world) = (table.link(label), Arc::new(self.clone()));
        let engine = Engine::builder(link.clone()).label(label).in_world(world).build().expect("an engine");
        Process { label: label.into(), link, engine }
    }

    /// Nothing on this host runs, while time goes on, until [`resume`](Host::resume).
    pub fn suspend(&self) {
        self.state.is_suspended.store(true, Ordering::Release);
    }

    /// It goes on where it stood.
    pub fn resume(&self) {
        self.state.is_suspended.store(false, Ordering::Release);
        for sleeper in std::mem::take(&mut *lock(&self.state.sleepers)) {
            sleeper.wake();
        }
    }

    /// Sets the wall clock forward by so many milliseconds, or back.
    pub fn set_clock(&self, by: i64) {
        self.state.set.fetch_add(by, Ordering::AcqRel);
    }

    /// Runs `work` as something on this host: not while it is suspended.
    pub async fn gate<F: Future>(&self, work: F) -> F::Output {
        let mut work = pin!(work);
        poll_fn(|context| {
            if self.state.is_suspended.load(Ordering::Acquire) {
                lock(&self.state.sleepers).push(context.waker().clone());
                return Poll::Pending;
            }
            work.as_mut().poll(context)
        })
        .await
    }

    /// How many tasks of its engines are running.
    pub fn tasks(&self) -> usize {
        self.state.tasks.load(Ordering::Acquire)
    }
}

impl World for Host {
    fn now(&self) -> Moment {
        let running = self.state.started.elapsed() * self.state.clocks.rate / 1_000;
        Moment::from_nanos(u64::try_from((self.state.origin + running).as_nanos()).expect("a short test"))
    }

    fn sleep_until(&self, at: Moment) -> BoxFuture<()> {
        let host = self.clone();
        Box::pin(async move {
            loop {
                let left = at.since(host.now());
                if left.is_zero() {
                    return;
                }
                // Rounded up, so that a timer never ends before its time.
                tokio::time::sleep(left * 1_000 / host.state.clocks.rate + Duration::from_nanos(1)).await;
            }
        })
    }

    fn spawn(&self, task: BoxFuture<()>) -> Result<(), BoxFuture<()>> {
        let host = self.clone();
        host.state.tasks.fetch_add(1, Ordering::AcqRel);
        let count = CountedTask(host.clone());
        drop(tokio::spawn(async move {
            let _count = count;
            host.gate(task).await;
        }));
        Ok(())
    }

    fn is_reachable(&self) -> bool {
        true
    }

    fn detaches_requests(&self) -> bool {
        true
    }

    fn random(&self) -> u128 {
        let mut chance = lock(&self.state.chance);
        let mut draw = || {
            // Steele, Lea and Flood's SplitMix64: small, and good enough for jitter and for ids.
            *chance = chance.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mixed = (*chance ^ (*chance >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            mixed ^ (mixed >> 31)
        };
        u128::from(draw()) << 64 | u128::from(draw())
    }

    fn wall(&self) -> StoreTime {
        let shown = self.state.wall.plus(self.state.started.elapsed()).as_millis();
        StoreTime::from_millis(shown.saturating_add_signed(self.state.set.load(Ordering::Acquire)))
    }

    fn stop(&self) {}
}

struct CountedTask(Host);

impl Drop for CountedTask {
    fn drop(&mut self) {
        self.0.state.tasks.fetch_sub(1, Ordering::AcqRel);
    }
}
