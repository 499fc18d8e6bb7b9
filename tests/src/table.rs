//! The store that several processes share, with a journal of every write that it applied.
//!
//! When a test lets go of its [`Table`], the journal is checked against the invariants that every history must
//! keep, whatever the test was about.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tako::backend::{
    BackendError, ErrorKind, Fence, Key, LeaseBackend, MemoryLease, Owner, Record, StoreTime, Stored, Swap,
    Token,
};
use tako::{Ctx, Engine, LockError, policy};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::faulty::{Link, Verb, lock};
use crate::witness::Witness;
use crate::{LOCK, key};

/// One write that was applied.
#[derive(Debug, Clone)]
pub struct Write {
    /// When, counted from when the table was made.
    pub at: Duration,
    /// By which process.
    pub by: String,
    /// What for.
    pub verb: Verb,
    /// What.
    pub record: Record,
    /// The version that it made.
    pub token: Token,
    /// What it was written over, as far as it was written through this table.
    over: Option<Version>,
    /// It was written over something that the journal does not know.
    is_over_unknown: bool,
}

#[derive(Debug, Clone)]
struct Version {
    at: Duration,
    record: Record,
}

pub(crate) struct Shared<B> {
    pub(crate) store: B,
    started: Instant,
    /// The store's time when the table was made. From there it runs like true time.
    epoch: StoreTime,
    journal: Mutex<Journal>,
}

#[derive(Default)]
struct Journal {
    writes: Vec<Write>,
    versions: HashMap<Token, Version>,
    /// The least time between two writes; a write that comes sooner is throttled.
    pace: Duration,
    throttled: usize,
}

impl<B: LeaseBackend> Shared<B> {
    pub(crate) fn now(&self) -> Duration {
        self.started.elapsed()
    }

    pub(crate) async fn swap(
        &self,
        by: &str,
        verb: Verb,
        key: &Key,
        expected: Option<&Token>,
        record: &Record,
    ) -> Result<Swap, BackendError> {
        let at = self.now();
        {
            let mut journal = lock(&self.journal);
            let last = journal.writes.last().map(|write| write.at);
            if last.is_some_and(|last| at.saturating_sub(last) < journal.pace) {
                journal.throttled += 1;
                return Err(BackendError::new(ErrorKind::Throttled, "one write a second"));
            }
        }
        let answer = self.store.swap(key, expected, record).await?;
        if let Swap::Applied { token, .. } = &answer {
            let mut journal = lock(&self.journal);
            let over = expected.and_then(|token| journal.versions.get(token)).cloned();
            let is_over_unknown = over.is_none() && expected.is_some();
            journal.versions.insert(token.clone(), Version { at, record: record.clone() });
            let (by, record, token) = (by.to_owned(), record.clone(), token.clone());
            journal.writes.push(Write { at, by, verb, record, token, over, is_over_unknown });
        }
        Ok(answer)
    }
}

/// An engine over a table, and its way there.
#[derive(Clone)]
pub struct Process {
    /// What it is called in records and in the history.
    pub label: String,
    /// What the engine thinks is the store.
    pub link: Link,
    /// The engine.
    pub engine: Engine,
}

impl Process {
    /// A context with no limit.
    pub fn ctx(&self) -> Ctx {
        self.engine.ctx()
    }

    /// Runs work of this length under the lock, which stops when it is told to.
    pub async fn work(&self, witness: &Witness, length: Duration) -> Result<Fence, LockError> {
        LOCK.run(&self.ctx(), async |ctx| witness.work(&self.label, &ctx, length).await).await
    }

    /// The same in a task of its own.
    pub fn start(&self, witness: &Witness, length: Duration) -> JoinHandle<Result<Fence, LockError>> {
        let (process, witness) = (self.clone(), witness.clone());
        tokio::spawn(async move { process.work(&witness, length).await })
    }

    /// The same, of work that does not listen.
    pub fn start_deaf(&self, witness: &Witness, length: Duration) -> JoinHandle<Result<Fence, LockError>> {
        let (process, witness) = (self.clone(), witness.clone());
        tokio::spawn(async move {
            LOCK.run(&process.ctx(), async |ctx| witness.work_deaf(&process.label, &ctx, length).await).await
        })
    }

    /// Runs work of this length under the lock, if it is free.
    pub async fn try_work(&self, witness: &Witness, length: Duration) -> Result<Option<Fence>, LockError> {
        LOCK.try_run(&self.ctx(), async |ctx| witness.work(&self.label, &ctx, length).await).await
    }
}

/// The store that several processes share.
pub struct Table<B: LeaseBackend = MemoryLease> {
    shared: Arc<Shared<B>>,
}

impl Table {
    /// An empty one, in memory.
    #[allow(clippy::new_without_default, reason = "a table has a start in time")]
    pub fn new() -> Table {
        Table::over(MemoryLease::new())
    }

    /// A process on the test's own runtime.
    ///
    /// # Panics
    /// When the engine cannot be built.
    pub fn process(&self, label: &str) -> Process {
        let link = self.link(label);
        let engine =
            Engine::builder(link.clone()).label(label).on_callers_runtime().build().expect("an engine");
        Process { label: label.into(), link, engine }
    }

    /// The record of the lock, as it stands.
    ///
    /// # Panics
    /// Never: memory answers.
    pub fn stored(&self) -> Option<Stored> {
        self.stored_at(&key())
    }

    /// The record at `key`, as it stands.
    ///
    /// # Panics
    /// Never: memory answers.
    pub fn stored_at(&self, key: &Key) -> Option<Stored> {
        at_once(self.shared.store.load(key)).expect("memory answers")
    }

    /// The store's time.
    ///
    /// # Panics
    /// Never: memory answers.
    pub fn time(&self) -> StoreTime {
        at_once(self.shared.store.now()).expect("memory answers")
    }

    /// Nobody holds the lock, and nobody is waited for: the record was given back, or there is none.
    pub fn is_free(&self) -> bool {
        self.stored().is_none_or(|stored| stored.record.is_released())
    }

    /// Writes `record` as somebody would who is none of the processes: by force.
    ///
    /// # Panics
    /// When the store refuses.
    pub fn put(&self, record: &Record) {
        self.put_at(&key(), record);
    }

    /// The same at `key`.
    ///
    /// # Panics
    /// When the store refuses.
    pub fn put_at(&self, key: &Key, record: &Record) {
        let expected = self.stored_at(key).map(|stored| stored.token);
        let swap = at_once(self.shared.store.swap(key, expected.as_ref(), record)).expect("memory answers");
        assert_ne!(swap, Swap::Refused, "a test writes while nobody else does");
    }

    /// Removes the record, as an operator does to break a lock by force.
    pub fn remove(&self) -> bool {
        self.shared.store.remove(&key())
    }
}

impl<B: LeaseBackend> Table<B> {
    /// Over a store of any kind that answers in place.
    ///
    /// # Panics
    /// When it does not tell its time.
    pub fn over(store: B) -> Table<B> {
        let epoch = at_once(store.now()).expect("a store that tells its time when the table is made");
        Table {
            shared: Arc::new(Shared { store, started: Instant::now(), epoch, journal: Mutex::default() }),
        }
    }

    /// The way to this table of the process `label`.
    pub fn link(&self, label: &str) -> Link<B> {
        Link::new(label, self.shared.clone())
    }

    /// The time since the table was made.
    pub fn now(&self) -> Duration {
        self.shared.now()
    }

    /// From here on a write that comes within `pace` of the last one is throttled.
    pub fn throttle(&self, pace: Duration) {
        lock(&self.shared.journal).pace = pace;
    }

    /// How many writes were throttled.
    pub fn throttled(&self) -> usize {
        lock(&self.shared.journal).throttled
    }

    /// Every write that was applied, in order.
    pub fn history(&self) -> Vec<Write> {
        lock(&self.shared.journal).writes.clone()
    }

    /// The writes of one process, as far as they were applied.
    pub fn history_of(&self, by: &str) -> Vec<Write> {
        self.history().into_iter().filter(|write| write.by == by).collect()
    }

    /// The fences of all claims that were applied, in order.
    pub fn fences(&self) -> Vec<Fence> {
        let is_claim = |write: &Write| write.verb == Verb::Claim;
        self.history().into_iter().filter(is_claim).map(|write| write.record.fence).collect()
    }

    /// When the last write in the name of `owner` was applied.
    pub fn last_write_of(&self, owner: &Owner) -> Option<Duration> {
        self.history().iter().rev().find(|write| write.record.owner == *owner).map(|write| write.at)
    }

    /// # Panics
    /// When the history breaks an invariant.
    fn check_history(&self) {
        let mut fences = HashMap::new();
        for write in self.history().iter().filter(|write| !write.is_over_unknown) {
            match (write.verb, &write.over) {
                (Verb::Claim, over) => {
                    let highest = fences.insert(write.record.lock.clone(), write.record.fence);
                    assert!(
                        highest.is_none_or(|highest| write.record.fence > highest),
                        "I2: fences strictly grow, but {write:?} follows {highest:?}"
                    );
                    if let Some(over) = over.as_ref().filter(|over| !over.record.is_released()) {
                        let age = write.at.saturating_sub(over.at);
                        let is_dead = self.shared.epoch.plus(write.at) >= over.record.expires;
                        assert!(
                            is_dead || age >= policy::TTL,
                            "I1: a record is taken over only once its holder has given up, but {write:?}"
                        );
                    }
                }
                (_, over) => {
                    let is_own = over.as_ref().is_some_and(|over| over.record.owner == write.record.owner);
                    assert!(is_own, "I3: a hold writes only over what it wrote itself, but {write:?}");
                    let was_released = over.as_ref().is_some_and(|over| over.record.is_released());
                    assert!(!was_released, "I9: nothing is written after the release, but {write:?}");
                }
            }
        }
    }
}

impl<B: LeaseBackend> Drop for Table<B> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.check_history();
        }
    }
}

/// What a table in memory answers, which it does at once.
fn at_once<F: Future>(future: F) -> F::Output {
    let mut future = std::pin::pin!(future);
    match future.as_mut().poll(&mut std::task::Context::from_waker(std::task::Waker::noop())) {
        std::task::Poll::Ready(output) => output,
        std::task::Poll::Pending => unreachable!("a table in memory answers in place"),
    }
}
