//! One property on trial: its own keys, its requests at the store's pace, and a log of them for the verdict.

use std::collections::{HashMap, VecDeque};
use std::fmt::Display;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::Pace;
use super::violation::{Violation, contract};
use crate::backend::{
    BackendError, ErrorKind, Extra, Fence, Key, LeaseBackend, Owner, Record, StoreTime, Stored, Swap, Token,
};
use crate::clock::{HostClock, Moment};

/// How many requests a verdict shows: the last ones lead to it.
const SHOWN: usize = 10;
/// The first pause after a throttled request where the pace has no gap to go by.
const BACK_OFF: Duration = Duration::from_millis(50);
/// 2026-12-01T12:00:00Z. A backend compares no times, so any will do.
const EXPIRES: StoreTime = StoreTime::from_millis(1_796_126_400_000);
/// The mark of the store's clock in the table of last writes: reading it may be a write.
const CLOCK: &str = "now";

pub(super) struct Trial<'a, B> {
    property: &'static str,
    backend: &'a B,
    pub(super) pace: Pace,
    clock: HostClock,
    /// Drawn anew each time: a store may be used again and by many tests at once.
    chance: u64,
    keys: AtomicU64,
    log: Mutex<Log>,
}

#[derive(Default)]
struct Log {
    /// Looked up only.
    last_writes: HashMap<String, Moment>,
    requests: VecDeque<String>,
    earlier: usize,
}

impl<'a, B: LeaseBackend> Trial<'a, B> {
    pub(super) fn new(property: &'static str, backend: &'a B, pace: Pace) -> Trial<'a, B> {
        let chance = RandomState::new().build_hasher().finish();
        let (keys, log) = (AtomicU64::new(0), Mutex::default());
        Trial { property, backend, pace, clock: HostClock::runtime(), chance, keys, log }
    }

    /// A key that nobody has used.
    pub(super) fn key(&self) -> Key {
        self.key_like(&format!("x{}", self.keys.fetch_add(1, Ordering::Relaxed)))
    }

    /// The key with this end. All keys of one trial begin alike.
    pub(super) fn key_like(&self, end: &str) -> Key {
        let name = format!("t{:016x}{end}", self.chance);
        // The shape that the engine gives to the keys of app `conformance` in environment `test`.
        Key::new(format!("leases/run-conformance-test-{name}"), format!("conformance/test/{name}"))
    }

    /// The `number`th record for `key`, unlike any other.
    pub(super) fn record(&self, key: &Key, number: u64) -> Record {
        Record {
            owner: Owner::new(format!("conformance#{:016x}{number:016x}", self.chance)),
            expires: EXPIRES.plus(Duration::from_secs(number)),
            fence: Fence::new(number),
            lock: key.lock().clone(),
            mark: None,
            extra: Extra::NONE,
        }
    }

    pub(super) fn host_now(&self) -> Moment {
        self.clock.now()
    }

    /// Lets time pass on the host. Needs tokio's timer, like every pause of the suite.
    pub(super) async fn pause(&self, span: Duration) {
        if !span.is_zero() {
            self.clock.sleep_until(self.clock.now().plus(span)).await;
        }
    }

    pub(super) async fn load(&self, key: &Key) -> Result<Option<Stored>, Violation> {
        let mut throttled = Duration::ZERO;
        loop {
            match self.backend.load(key).await {
                Ok(answer) => {
                    let shown = answer.as_ref().map_or_else(|| "none".into(), show);
                    self.note(format_args!("load {} -> {shown}", key.path()));
                    return Ok(answer);
                }
                Err(error) => self.wait_out(&mut throttled, "load", key.path(), error).await?,
            }
        }
    }

    /// A load of a record that must be there.
    pub(super) async fn load_some(&self, key: &Key) -> Result<Stored, Violation> {
        let stored = self.load(key).await?;
        stored.ok_or_else(|| self.broken(contract::READS, "the record that was written is not there"))
    }

    /// A swap no sooner after the last write to the key than the pace allows.
    pub(super) async fn swap(
        &self,
        key: &Key,
        expected: Option<&Token>,
        record: &Record,
    ) -> Result<Swap, Violation> {
        self.rest(key.path()).await;
        self.swap_at_once(key, expected, record).await
    }

    /// A swap without a pause before it, for races.
    pub(super) async fn swap_at_once(
        &self,
        key: &Key,
        expected: Option<&Token>,
        record: &Record,
    ) -> Result<Swap, Violation> {
        let mut throttled = Duration::ZERO;
        loop {
            match self.send_swap(key, expected, record).await {
                Ok(answer) => return Ok(answer),
                Err(error) => self.wait_out(&mut throttled, "swap", key.path(), error).await?,
            }
        }
    }

    /// One swap as it is: no pause, no second attempt.
    pub(super) async fn send_swap(
        &self,
        key: &Key,
        expected: Option<&Token>,
        record: &Record,
    ) -> Result<Swap, BackendError> {
        let answer = self.backend.swap(key, expected, record).await;
        self.wrote(key.path());
        if let Ok(answer) = &answer {
            let expected = expected.map_or_else(|| "nothing".into(), |token| format!("token {token}"));
            let (path, fence) = (key.path(), record.fence);
            let shown = show_swap(answer);
            self.note(format_args!("swap {path}, expecting {expected}, to fence {fence} -> {shown}"));
        }
        answer
    }

    /// A swap that must be applied; its token.
    pub(super) async fn apply(
        &self,
        key: &Key,
        expected: Option<&Token>,
        record: &Record,
    ) -> Result<Token, Violation> {
        match self.swap(key, expected, record).await? {
            Swap::Applied { token, .. } => Ok(token),
            Swap::Refused => {
                Err(self
                    .broken(contract::APPLIES, "a swap on what is stored was refused, with no rival about"))
            }
        }
    }

    /// A swap that must be refused.
    pub(super) async fn refuse(
        &self,
        key: &Key,
        expected: Option<&Token>,
        record: &Record,
        why: &str,
    ) -> Result<(), Violation> {
        match self.swap(key, expected, record).await? {
            Swap::Refused => Ok(()),
            Swap::Applied { token, .. } => {
                Err(self.broken(contract::EXPECTED, format_args!("{why} was applied, with token {token}")))
            }
        }
    }

    pub(super) async fn now(&self) -> Result<StoreTime, Violation> {
        self.rest(CLOCK).await;
        let mut throttled = Duration::ZERO;
        loop {
            let answer = self.backend.now().await;
            self.wrote(CLOCK);
            match answer {
                Ok(time) => {
                    self.note(format_args!("now -> {time}"));
                    return Ok(time);
                }
                Err(error) => self.wait_out(&mut throttled, "now", "the clock", error).await?,
            }
        }
    }

    /// Waits until the pace allows a write to `path` again.
    pub(super) async fn rest(&self, path: &str) {
        if self.pace.gap.is_zero() {
            return;
        }
        let last = self.log().last_writes.get(path).copied();
        if let Some(last) = last {
            self.clock.sleep_until(last.plus(self.pace.gap)).await;
        }
    }

    fn wrote(&self, path: &str) {
        if !self.pace.gap.is_zero() {
            let now = self.clock.now();
            self.log().last_writes.insert(path.into(), now);
        }
    }

    /// Waits after a throttled request until it may be sent again; any other error ends the trial. What has perhaps
    /// been applied is not sent again: the answer to the second would say nothing about the store.
    pub(super) async fn wait_out(
        &self,
        throttled: &mut Duration,
        verb: &str,
        subject: &str,
        error: BackendError,
    ) -> Result<(), Violation> {
        if error.kind() == ErrorKind::Throttled && *throttled < self.pace.patience {
            let pause = self.pace.gap.max(BACK_OFF).mul_f64(1.0 + share());
            *throttled += pause;
            self.pause(pause).await;
            return Ok(());
        }
        let found = format!("`{verb}` of {subject} failed as `{:?}`: {error}", error.kind());
        Err(Violation { error: Some(error), ..self.broken(contract::HEALTHY, found) })
    }

    pub(super) fn broken(&self, contract: &'static str, found: impl Display) -> Violation {
        let log = self.log();
        let cut = (log.earlier > 0).then(|| format!("… {} requests before these", log.earlier));
        let requests = cut.into_iter().chain(log.requests.iter().cloned()).collect();
        Violation { property: self.property, found: found.to_string(), contract, requests, error: None }
    }

    fn note(&self, request: impl Display) {
        let mut log = self.log();
        if log.requests.len() == SHOWN {
            log.requests.pop_front();
            log.earlier += 1;
        }
        log.requests.push_back(request.to_string());
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) fn show(stored: &Stored) -> String {
    format!("token {}, fence {}", stored.token, stored.record.fence)
}

fn show_swap(swap: &Swap) -> String {
    match swap {
        Swap::Applied { token, .. } => format!("applied, token {token}"),
        Swap::Refused => "refused".into(),
    }
}

/// Between 0 and 1, so that throttled racers do not come back in step.
fn share() -> f64 {
    f64::from(u16::try_from(RandomState::new().build_hasher().finish() % 1_000).unwrap_or(0)) / 1_000.0
}
