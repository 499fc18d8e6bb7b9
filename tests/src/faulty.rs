//! A backend between an engine and the real store that does to chosen calls what networks and client libraries do.
//!
//! ```
//! # use tako_lock_tests::{faulty::*, secs, table::Table};
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! let table = Table::new();
//! let p1 = table.process("P1");
//! p1.link.on(claims().first(1), Fault::LostReply);
//! p1.link.on(beats().between(secs(20), secs(40)), Fault::Fails(tako::backend::ErrorKind::Throttled));
//! # }
//! ```
//! The first rule that speaks for a call decides it. Nothing here sleeps in real time, and nothing is left to chance.

use std::collections::HashMap;
use std::future::{Future, pending};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tako::backend::{
    BackendError, ErrorKind, Key, LeaseBackend, MemoryLease, Owner, Record, StoreTime, Stored, Swap, Token,
};

pub use crate::calls::{Calls, Verb, all_calls, beats, claims, clock, loads, releases, writes};
use crate::table::Shared;

/// What becomes of a call.
#[derive(Debug, Clone, Copy)]
pub enum Fault {
    /// It takes so long to reach the store, and the answer so long to come back. The network owns it: a caller
    /// that has gone does not recall it.
    Slow {
        /// From the caller to the store.
        there: Duration,
        /// From the store to the caller.
        back: Duration,
    },
    /// It never reaches the store, and no answer comes.
    LostRequest,
    /// It is carried out, and no answer comes.
    LostReply,
    /// No answer comes, and it reaches the store so much later.
    LandsLate(Duration),
    /// It is not carried out, and this is the answer.
    Fails(ErrorKind),
    /// It is carried out, and this is the answer.
    FailsOnceApplied(ErrorKind),
    /// This is the answer, and it reaches the store so much later.
    FailsThenLands(ErrorKind, Duration),
    /// It is carried out, its answer is lost, and the client library's own retry is answered.
    SentTwice,
    /// It is not carried out, and reported as refused: two racing writes where neither won.
    Conflict,
    /// None: an exception to the rules that follow.
    Passes,
}

/// One call, as it left the engine.
#[derive(Debug, Clone)]
pub struct Request {
    /// When, counted from when the table was made.
    pub at: Duration,
    /// What for.
    pub verb: Verb,
    /// In whose name, if it is a write.
    pub owner: Option<Owner>,
}

/// One process's way to the store.
pub struct Link<B = MemoryLease> {
    shared: Arc<Inner<B>>,
}

struct Inner<B> {
    label: String,
    table: Arc<Shared<B>>,
    rules: Mutex<Vec<(Calls, Fault)>>,
    requests: Mutex<Vec<Request>>,
    /// The expiry of each owner's first body, which tells a claim sent again from a heartbeat.
    first_bodies: Mutex<HashMap<Owner, StoreTime>>,
    is_undated: AtomicBool,
    yields: AtomicBool,
}

impl<B: LeaseBackend> Link<B> {
    pub(crate) fn new(label: &str, table: Arc<Shared<B>>) -> Link<B> {
        Link {
            shared: Arc::new(Inner {
                label: label.into(),
                table,
                rules: Mutex::default(),
                requests: Mutex::default(),
                first_bodies: Mutex::default(),
                is_undated: AtomicBool::new(false),
                yields: AtomicBool::new(false),
            }),
        }
    }

    /// From here on `fault` befalls `calls`, where no earlier rule says otherwise.
    pub fn on(&self, calls: Calls, fault: Fault) {
        lock(&self.shared.rules).push((calls, fault));
    }

    /// Lifts all rules.
    pub fn heal(&self) {
        lock(&self.shared.rules).clear();
    }

    /// The store says of no write when it was applied.
    pub fn never_dates(&self) {
        self.shared.is_undated.store(true, Ordering::Relaxed);
    }

    /// Each call gives way once before it is carried out and once after, so that it can be dropped there.
    pub fn gives_way(&self) {
        self.shared.yields.store(true, Ordering::Relaxed);
    }

    /// Every call so far.
    pub fn requests(&self) -> Vec<Request> {
        lock(&self.shared.requests).clone()
    }

    /// How many of `verbs` have been sent so far.
    pub fn count(&self, verbs: &[Verb]) -> usize {
        lock(&self.shared.requests).iter().filter(|request| verbs.contains(&request.verb)).count()
    }

    /// How many writes have been sent so far.
    pub fn writes(&self) -> usize {
        self.count(&[Verb::Claim, Verb::Beat, Verb::Release])
    }

    fn verb_of(&self, record: &Record) -> Verb {
        if record.is_released() {
            return Verb::Release;
        }
        let mut first = lock(&self.shared.first_bodies);
        if *first.entry(record.owner.clone()).or_insert(record.expires) == record.expires {
            Verb::Claim
        } else {
            Verb::Beat
        }
    }

    fn fault(&self, verb: Verb, owner: Option<Owner>) -> Fault {
        let at = self.shared.table.now();
        lock(&self.shared.requests).push(Request { at, verb, owner });
        let mut rules = lock(&self.shared.rules);
        let deciding =
            rules.iter_mut().find_map(|(calls, fault)| calls.speak_for(verb, at).then_some(*fault));
        deciding.unwrap_or(Fault::Passes)
    }

    /// Does to `call` what befalls it. `conflict` is what a refusal looks like, where there is one.
    async fn carry<T, F>(
        &self,
        fault: Fault,
        conflict: Option<T>,
        call: impl Fn() -> F + Send + 'static,
    ) -> Result<T, BackendError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, BackendError>> + Send,
    {
        match fault {
            Fault::Passes => {
                if self.shared.yields.load(Ordering::Relaxed) {
                    tokio::task::yield_now().await;
                    let answer = call().await;
                    tokio::task::yield_now().await;
                    return answer;
                }
                call().await
            }
            Fault::Slow { there, back } => {
                let request = tokio::spawn(async move {
                    tokio::time::sleep(there).await;
                    let answer = call().await;
                    tokio::time::sleep(back).await;
                    answer
                });
                request.await.unwrap_or_else(|_| Err(failure(ErrorKind::UnknownOutcome)))
            }
            Fault::LostRequest => pending().await,
            Fault::LostReply => {
                let _ = call().await;
                pending().await
            }
            Fault::LandsLate(late) => {
                land_after(late, call);
                pending().await
            }
            Fault::Fails(kind) => Err(failure(kind)),
            Fault::FailsOnceApplied(kind) => {
                let _ = call().await;
                Err(failure(kind))
            }
            Fault::FailsThenLands(kind, late) => {
                land_after(late, call);
                Err(failure(kind))
            }
            Fault::SentTwice => {
                let _ = call().await;
                call().await
            }
            Fault::Conflict => conflict.ok_or_else(|| failure(ErrorKind::Unavailable)),
        }
    }
}

fn land_after<T, F>(late: Duration, call: impl Fn() -> F + Send + 'static)
where
    T: Send + 'static,
    F: Future<Output = Result<T, BackendError>> + Send,
{
    drop(tokio::spawn(async move {
        tokio::time::sleep(late).await;
        let _ = call().await;
    }));
}

fn failure(kind: ErrorKind) -> BackendError {
    BackendError::new(kind, format!("the test makes this call fail as {kind:?}"))
}

impl<B: LeaseBackend> LeaseBackend for Link<B> {
    async fn load(&self, key: &Key) -> Result<Option<Stored>, BackendError> {
        let fault = self.fault(Verb::Load, None);
        let (table, key) = (self.shared.table.clone(), key.clone());
        self.carry(fault, None, move || {
            let (table, key) = (table.clone(), key.clone());
            async move { table.store.load(&key).await }
        })
        .await
    }

    async fn swap(&self, key: &Key, expected: Option<&Token>, record: &Record) -> Result<Swap, BackendError> {
        let verb = self.verb_of(record);
        let fault = self.fault(verb, Some(record.owner.clone()));
        let (link, key, expected, record) =
            (self.shared.clone(), key.clone(), expected.cloned(), record.clone());
        let swap = move || {
            let (link, key, expected, record) = (link.clone(), key.clone(), expected.clone(), record.clone());
            async move { link.table.swap(&link.label, verb, &key, expected.as_ref(), &record).await }
        };
        match self.carry(fault, Some(Swap::Refused), swap).await? {
            Swap::Applied { token, .. } if self.shared.is_undated.load(Ordering::Relaxed) => {
                Ok(Swap::Applied { token, at: None })
            }
            answer => Ok(answer),
        }
    }

    async fn now(&self) -> Result<StoreTime, BackendError> {
        let fault = self.fault(Verb::Clock, None);
        let table = self.shared.table.clone();
        self.carry(fault, None, move || {
            let table = table.clone();
            async move { table.store.now().await }
        })
        .await
    }
}

impl<B> Clone for Link<B> {
    fn clone(&self) -> Link<B> {
        Link { shared: self.shared.clone() }
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
