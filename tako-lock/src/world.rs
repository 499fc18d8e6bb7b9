//! All that the engine knows of the machine it runs on: time, tasks and chance, through one door.
//!
//! The engine calls nothing of this kind past the trait, so a test can put the real engine into a simulated
//! machine. In production there are two worlds: the caller's runtime, and a thread of the engine's own.

use std::cell::RefCell;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::clock::{self, HostClock, Moment};
use crate::race::race;
use crate::record::StoreTime;

/// A future on the heap that may move between threads.
pub type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Time, tasks and chance, as one instance of the app meets them.
pub trait World: Send + Sync + 'static {
    /// The host's monotonic clock. It never goes back; in production it counts suspend, see `clock`.
    fn now(&self) -> Moment;

    /// Ends at `at`. The future needs no runtime of its poller's.
    fn sleep_until(&self, at: Moment) -> BoxFuture<()>;

    /// Runs `task` to its end, whatever becomes of the caller.
    ///
    /// # Errors
    /// Hands the task back where there is no runtime to run it.
    fn spawn(&self, task: BoxFuture<()>) -> Result<(), BoxFuture<()>>;

    /// Whether a task can be spawned from here.
    fn is_reachable(&self) -> bool;

    /// Whether store requests run in tasks of their own, where nothing that the caller does can hold them up.
    fn detaches_requests(&self) -> bool;

    /// 128 random bits.
    fn random(&self) -> u128;

    /// The host's wall clock: when a cron looks for its next tick, a first guess at a store's time, and for logs. It may
    /// be wrong, and be set at any time.
    fn wall(&self) -> StoreTime;

    /// Ends what the world runs for the engine, once the engine has drained. Tasks still there are dropped.
    fn stop(&self);
}

/// The runtime that the caller happens to be on. With paused time, tests in it are exact.
pub(crate) struct Ambient {
    clock: HostClock,
}

impl Ambient {
    pub(crate) fn new() -> Ambient {
        Ambient { clock: HostClock::runtime() }
    }
}

impl World for Ambient {
    fn now(&self) -> Moment {
        self.clock.now()
    }

    fn sleep_until(&self, at: Moment) -> BoxFuture<()> {
        let clock = self.clock;
        Box::pin(async move { clock.sleep_until(at).await })
    }

    fn spawn(&self, task: BoxFuture<()>) -> Result<(), BoxFuture<()>> {
        match Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn(task)),
            Err(_) => return Err(task),
        }
        Ok(())
    }

    fn is_reachable(&self) -> bool {
        Handle::try_current().is_ok()
    }

    fn detaches_requests(&self) -> bool {
        false
    }

    fn random(&self) -> u128 {
        random()
    }

    fn wall(&self) -> StoreTime {
        clock::runtimes_wall()
    }

    fn stop(&self) {}
}

/// A thread with a small runtime of its own: heartbeats keep time however long the caller's runtime is blocked.
pub(crate) struct OwnThread {
    clock: HostClock,
    runtime: Handle,
    stop: CancellationToken,
    thread: Mutex<Option<std::thread::JoinHandle<()>>>,
}

impl OwnThread {
    pub(crate) fn start() -> std::io::Result<OwnThread> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let stop = CancellationToken::new();
        let stopped = stop.clone();
        let thread = std::thread::Builder::new().name("tako-lock".into()).spawn(move || {
            runtime.block_on(stopped.cancelled());
            // A hung name look-up on a blocking thread must not keep the program from ending.
            runtime.shutdown_background();
        })?;
        Ok(OwnThread { clock: HostClock::boot(), runtime: handle, stop, thread: Mutex::new(Some(thread)) })
    }
}

#[cfg(feature = "gcs")]
impl OwnThread {
    /// What is made while this stands has its tasks on the engine's thread.
    pub(crate) fn enter(&self) -> tokio::runtime::EnterGuard<'_> {
        self.runtime.enter()
    }
}

impl World for OwnThread {
    fn now(&self) -> Moment {
        self.clock.now()
    }

    fn sleep_until(&self, at: Moment) -> BoxFuture<()> {
        let (clock, runtime) = (self.clock, self.runtime.clone());
        Box::pin(async move {
            // A timer that is polled after its runtime has ended panics, so it stays where it belongs, and word of it
            // is sent.
            let (mut word, rung) = oneshot::channel();
            runtime.spawn(async move {
                race(pin!(clock.sleep_until(at)), pin!(word.closed())).await;
                let _ = word.send(());
            });
            if rung.await.is_ok() {
                return;
            }
            // The engine's thread has ended. What is still timed by it, such as a context's limit, goes on with the
            // caller's timer, if there is one.
            match Handle::try_current() {
                Ok(_) => clock.sleep_until(at).await,
                Err(_) => std::future::pending().await,
            }
        })
    }

    fn spawn(&self, task: BoxFuture<()>) -> Result<(), BoxFuture<()>> {
        if self.stop.is_cancelled() {
            return Err(task);
        }
        drop(self.runtime.spawn(task));
        Ok(())
    }

    fn is_reachable(&self) -> bool {
        !self.stop.is_cancelled()
    }

    fn detaches_requests(&self) -> bool {
        true
    }

    fn random(&self) -> u128 {
        random()
    }

    fn wall(&self) -> StoreTime {
        clock::wall()
    }

    fn stop(&self) {
        self.stop.cancel();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread
            && thread.thread().id() != std::thread::current().id()
        {
            // The thread ends at its next turn: nothing on it blocks. An Err would be a panic of the thread,
            // which the panic hook has already reported.
            let _ = thread.join();
        }
    }
}

impl Drop for OwnThread {
    fn drop(&mut self) {
        // Not joined: the last owner may be a task on this very thread.
        self.stop.cancel();
    }
}

impl dyn World {
    /// A pause around `mean`, between three and five quarters of it, so that no two processes fall into step.
    pub(crate) fn jittered(&self, mean: Duration) -> Duration {
        let share = u32::try_from(self.random() % 1_000_001).unwrap_or(0);
        mean * 3 / 4 + (mean / 2).mul_f64(f64::from(share) / 1_000_000.0)
    }
}

/// Random bits for an id that no other process has drawn.
///
/// A system call for each would be a sixth of what an uncontended lock costs in memory, so they are drawn in batches.
/// A process that was forked, or restored twice from one snapshot, has the batch of its twin: see `Shared::new_owner`.
fn random() -> u128 {
    thread_local! {
        static BATCH: RefCell<Vec<u128>> = const { RefCell::new(Vec::new()) };
    }
    BATCH.with_borrow_mut(|batch| {
        if batch.is_empty() {
            let mut bytes = [0; 16 * 64];
            // An operating system with no randomness to give is one where std's own maps could not be made. What is
            // left then is the hasher's keys, drawn when the process started, and their counter.
            if getrandom::fill(&mut bytes).is_err() {
                bytes.chunks_exact_mut(8).for_each(|chunk| chunk.copy_from_slice(&fallback().to_ne_bytes()));
            }
            let (ids, _) = bytes.as_chunks();
            batch.extend(ids.iter().map(|id| u128::from_ne_bytes(*id)));
        }
        batch.pop().unwrap_or_default()
    })
}

fn fallback() -> u64 {
    use std::hash::{BuildHasher, Hasher, RandomState};
    RandomState::new().build_hasher().finish() ^ u64::from(std::process::id())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{OwnThread, World, random};

    #[tokio::test]
    #[expect(clippy::disallowed_methods, reason = "a test about real time")]
    async fn a_sleep_outlives_the_engines_thread() {
        let world = OwnThread::start().unwrap();
        let at = world.now().plus(Duration::from_millis(40));
        let (early, mut late) = (world.sleep_until(at), world.sleep_until(at));
        assert!(tokio::time::timeout(Duration::from_millis(5), &mut late).await.is_err(), "under way");
        world.stop();
        late.await;
        early.await;
        assert!(world.now() >= at);
    }

    #[test]
    fn no_two_draws_are_alike() {
        let mut drawn: Vec<u128> = (0..1_000).map(|_| random()).collect();
        drawn.sort_unstable();
        drawn.dedup();
        assert_eq!(drawn.len(), 1_000);
    }
}
