//! True time: what happens next, and when. In microseconds since the simulation began.
//!
//! tokio's paused clock advances only when nothing is left to run. So the driver sleeps on it for a moment, and when
//! that ends, all that could happen at the present instant has happened: it goes on to the next entry. Nobody but the
//! driver uses tokio's clock.

use std::cmp::Ordering as Order;
use std::collections::BinaryHeap;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// In microseconds.
pub const SECOND: u64 = 1_000_000;
/// In microseconds.
pub const MILLISECOND: u64 = 1_000;

/// A lock that nobody else can hold: a simulation is one thread.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What happens, and when.
#[derive(Default)]
pub struct Calendar {
    now: AtomicU64,
    entries: Mutex<Entries>,
    /// How often somebody has made a timer since time last moved.
    timers: AtomicU64,
}

#[derive(Default)]
struct Entries {
    heap: BinaryHeap<Entry>,
    last: u64,
}

struct Entry {
    at: u64,
    /// What was put down first happens first.
    number: u64,
    action: Action,
}

enum Action {
    Wake(Arc<Mutex<Option<Waker>>>),
    Do(Box<dyn FnOnce() + Send>),
}

impl Calendar {
    /// True time.
    pub fn now(&self) -> u64 {
        self.now.load(Ordering::Relaxed)
    }

    /// Does `what` at `at`.
    pub fn at(&self, at: u64, what: impl FnOnce() + Send + 'static) {
        self.enter(at, Action::Do(Box::new(what)));
    }

    /// A future that ends at `at`.
    pub fn alarm(self: &Arc<Self>, at: u64) -> Alarm {
        Alarm { calendar: self.clone(), at, waker: Arc::default(), is_entered: false }
    }

    /// # Panics
    /// When time stands still because somebody goes round in circles: nothing else would ever end that.
    pub(crate) fn guard(&self) {
        let timers = self.timers.fetch_add(1, Ordering::Relaxed);
        assert!(timers < 100_000, "time stands still: a task goes round in circles");
    }

    fn enter(&self, at: u64, action: Action) {
        let mut entries = lock(&self.entries);
        entries.last += 1;
        let number = entries.last;
        entries.heap.push(Entry { at: at.max(self.now()), number, action });
    }

    /// Runs the simulation until `is_over` says so, or until nothing is left to happen.
    pub async fn run(&self, is_over: impl Fn() -> bool) {
        loop {
            tokio::time::sleep(Duration::from_millis(1)).await;
            if is_over() || !self.turn() {
                return;
            }
        }
    }

    /// Goes on to the next instant at which anything happens.
    fn turn(&self) -> bool {
        let mut instant = None;
        self.timers.store(0, Ordering::Relaxed);
        loop {
            let mut entries = lock(&self.entries);
            let Some(next) = entries.heap.peek() else { return instant.is_some() };
            if instant.is_some_and(|instant| next.at > instant) {
                return true;
            }
            let Some(Entry { at, action, .. }) = entries.heap.pop() else { return false };
            drop(entries);
            let waker = match action {
                Action::Do(what) => {
                    self.now.store(at, Ordering::Relaxed);
                    what();
                    instant = Some(at);
                    continue;
                }
                Action::Wake(waker) => lock(&waker).take(),
            };
            // An alarm that was dropped does not even move the time.
            if let Some(waker) = waker {
                self.now.store(at, Ordering::Relaxed);
                waker.wake();
                instant = Some(at);
            }
        }
    }

    /// Forgets what has not happened.
    pub fn clear(&self) {
        let heap = std::mem::take(&mut lock(&self.entries).heap);
        drop(heap);
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        self.cmp(other) == Order::Equal
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Entry) -> Option<Order> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Entry) -> Order {
        // The heap gives the greatest first.
        (other.at, other.number).cmp(&(self.at, self.number))
    }
}

/// Ends at one instant of true time.
pub struct Alarm {
    calendar: Arc<Calendar>,
    at: u64,
    waker: Arc<Mutex<Option<Waker>>>,
    is_entered: bool,
}

impl Alarm {
    /// Ends at another time instead.
    pub fn reset(&mut self, at: u64) {
        lock(&self.waker).take();
        (self.at, self.waker, self.is_entered) = (at, Arc::default(), false);
    }
}

impl Future for Alarm {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.calendar.now() >= self.at {
            return Poll::Ready(());
        }
        {
            let mut waker = lock(&self.waker);
            match &mut *waker {
                Some(known) => known.clone_from(context.waker()),
                None => *waker = Some(context.waker().clone()),
            }
        }
        if !self.is_entered {
            self.is_entered = true;
            self.calendar.enter(self.at, Action::Wake(self.waker.clone()));
        }
        Poll::Pending
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        lock(&self.waker).take();
    }
}
