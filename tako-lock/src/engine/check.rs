//! The self-test: whether the store is fit to host leases, asked of the store itself by the three verbs.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::store::{Reply, Store};
use super::{Engine, Shared};
use crate::backend::{BackendError, Extra, Fence, Key, Record, StoreTime, Swap, Token};
use crate::error::Span;

/// How often one request is sent before its failure is told.
const TRIES: u32 = 3;
/// How often the whole is begun anew because another instance writes the probe at the same time.
const ROUNDS: u32 = 5;

impl Engine {
    /// Tests the store: tells its time, writes a probe twice on the current version and once on a stale one, and reads
    /// it back. For the start of a program, which prints the answer.
    ///
    /// The probe is a record beside the locks that no lock can have (`leases/check-<app>-<env>`), and stays there. Any number
    /// of instances may test at once. It takes some two seconds where the store is remote, since one record is not
    /// written more than once a second. On success, every permission that a lease needs has been used.
    ///
    /// # Cancel safety
    /// It leaves nothing behind but the probe.
    ///
    /// # Examples
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let check = tako::Engine::memory().check().await;
    /// assert!(check.verdict().is_fit(), "{check}");
    /// # }
    /// ```
    pub async fn check(&self) -> Check {
        let shared = &self.inner.shared;
        let path = shared.namespace.path("check");
        let mut check =
            Check { path: path.clone().into(), clock: None, round_trips: Vec::new(), fault: None };
        let lock = format!("check of {}", path.trim_start_matches("leases/check-"));
        check.fault = shared.examine(&Key::new(path, lock), &mut check).await.err();
        check
    }
}

/// What a store has shown of itself; see [`Engine::check`]. `Display` is the report for people, some lines long.
#[derive(Debug, Clone)]
pub struct Check {
    path: Arc<str>,
    clock: Option<ClockOffset>,
    round_trips: Vec<(&'static str, Duration)>,
    fault: Option<Fault>,
}

/// How far a store's clock is from this host's wall clock. It decides nothing: expiry is judged by the store's clock
/// alone. But logs of this host will not match the times in records by as much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockOffset {
    /// The store's time minus the host's, in milliseconds.
    pub millis: i64,
    /// By how much that may be wrong: half of the round trip.
    pub error: Duration,
}

/// Whether a store is fit to host leases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is.
    Fit,
    /// It could not be told: the store was out of reach, failing, or throttled. Locks will wait for it.
    Unsettled,
    /// It is not, and no lock can be taken until that is mended.
    Unfit,
}

impl Verdict {
    /// Whether it is [`Fit`](Verdict::Fit).
    pub fn is_fit(self) -> bool {
        self == Verdict::Fit
    }
}

impl Check {
    /// The verdict.
    pub fn verdict(&self) -> Verdict {
        match &self.fault {
            None => Verdict::Fit,
            Some(Fault::Failed { source, .. }) if source.kind().is_transient() => Verdict::Unsettled,
            Some(Fault::Rivals) => Verdict::Unsettled,
            Some(_) => Verdict::Unfit,
        }
    }

    /// Why the store is not known to be fit.
    pub fn fault(&self) -> Option<&(dyn Error + 'static)> {
        self.fault.as_ref().map(|fault| fault as &(dyn Error + 'static))
    }

    /// How far the store's clock is from this host's; `None` when the store did not tell its time.
    pub fn clock_offset(&self) -> Option<ClockOffset> {
        self.clock
    }

    /// What was asked that brought an answer, in order, and how long each took.
    pub fn round_trips(&self) -> &[(&'static str, Duration)] {
        &self.round_trips
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = match self.verdict() {
            Verdict::Fit => "fit to host leases",
            Verdict::Unsettled => "not known to be fit to host leases",
            Verdict::Unfit => "not fit to host leases",
        };
        write!(f, "the store is {verdict} (tested on `{}`)", self.path)?;
        if let Some(ClockOffset { millis, error }) = self.clock {
            let side = if millis < 0 { "behind" } else { "ahead of" };
            let (offset, error) = (Span(Duration::from_millis(millis.unsigned_abs())), Span(error));
            write!(f, "\n  clock: {offset} {side} this host's, give or take {error}")?;
        }
        for (at, (step, took)) in self.round_trips.iter().enumerate() {
            let start = if at == 0 { "\n  round trips: " } else { ", " };
            write!(f, "{start}{step} {:.1}ms", took.as_secs_f64() * 1_000.0)?;
        }
        let mut next = self.fault();
        let mut start = "\n  ";
        while let Some(cause) = next {
            write!(f, "{start}{cause}")?;
            next = cause.source();
            start = ": ";
        }
        Ok(())
    }
}

#[derive(Debug, Clone, thiserror::Error)]
enum Fault {
    #[error("{step} failed")]
    Failed { step: &'static str, source: BackendError },
    #[error(
        "a write on a version that was no longer the current one was applied. This store does not compare and swap: \
         two holders of one lock could run at once. Do not use it"
    )]
    StaleWasApplied,
    #[error(
        "what was read back is not what was written last: this store may answer with what it had before. Do not use it"
    )]
    ReadsThePast,
    #[error(
        "a write on the current version was refused. This store does not compare as it should, or something rewrites \
         the probe all the time"
    )]
    CurrentWasRefused,
    #[error(
        "something else stands at the probe's place, with the identity `{found}`. Find out what wrote it, and remove it"
    )]
    Foreign { found: Arc<str> },
    #[error("other instances were testing the store all the time. Test again later")]
    Rivals,
}

impl Shared {
    async fn examine(&self, key: &Key, check: &mut Check) -> Result<(), Fault> {
        let sent = self.world.wall();
        let time = self.ask(check, "telling the time", |store| store.now()).await?;
        check.clock = check.round_trips.last().map(|(_, took)| offset(sent, time, *took));
        for _ in 0..ROUNDS {
            // Of the round trips only those of the last round are told.
            check.round_trips.truncate(1);
            if self.round(key, check).await? {
                return Ok(());
            }
            self.world.sleep_until(self.world.now().plus(self.world.jittered(self.policy.poll))).await;
        }
        Err(Fault::Rivals)
    }

    /// Whether it has come to its end with no other instance between.
    async fn round(&self, key: &Key, check: &mut Check) -> Result<bool, Fault> {
        let owner = self.new_owner(self.world.now());
        let record = |fence| Record {
            owner: owner.clone(),
            expires: StoreTime::RELEASED,
            fence: Fence::new(fence),
            lock: key.lock().clone(),
            mark: None,
            extra: Extra::NONE,
        };
        let stored = self.ask(check, "reading", |store| store.load(key)).await?;
        if let Some(foreign) = stored.as_ref().filter(|stored| stored.record.lock != *key.lock()) {
            return Err(Fault::Foreign { found: foreign.record.lock.clone() });
        }
        let before = stored.map(|stored| stored.token);
        let Some(first) = self.put(key, check, "writing", before.as_ref(), &record(1)).await? else {
            return Ok(false);
        };
        self.pace().await;
        // Retention shows here: the first write of an object is allowed, the first overwrite is not.
        let Some(second) = self.put(key, check, "writing over it", Some(&first), &record(2)).await? else {
            return Ok(false);
        };
        self.pace().await;
        let stale =
            self.ask(check, "writing on a stale version", |store| store.swap(key, Some(&first), &record(3)));
        if let Swap::Applied { .. } = stale.await? {
            return Err(Fault::StaleWasApplied);
        }
        match self.ask(check, "reading it back", |store| store.load(key)).await? {
            Some(stored) if stored.record == record(2) && stored.token == second => Ok(true),
            Some(stored) if stored.record.owner != owner && Some(&stored.token) != before.as_ref() => {
                Ok(false)
            }
            _ => Err(Fault::ReadsThePast),
        }
    }

    /// The token of the write; `None` when another instance came first.
    async fn put(
        &self,
        key: &Key,
        check: &mut Check,
        step: &'static str,
        expected: Option<&Token>,
        record: &Record,
    ) -> Result<Option<Token>, Fault> {
        if let Swap::Applied { token, .. } =
            self.ask(check, step, |store| store.swap(key, expected, record)).await?
        {
            return Ok(Some(token));
        }
        // Refused: a rival's write, or an earlier copy of this one whose answer was lost.
        let stored = self.ask(check, "reading what stands there", |store| store.load(key)).await?;
        match stored {
            Some(stored) if stored.record == *record => Ok(Some(stored.token)),
            stored if stored.as_ref().map(|stored| &stored.token) == expected => {
                Err(Fault::CurrentWasRefused)
            }
            _ => Ok(None),
        }
    }

    async fn ask<T>(
        &self,
        check: &mut Check,
        step: &'static str,
        request: impl Fn(&dyn Store) -> Reply<T>,
    ) -> Result<T, Fault> {
        let mut tries = 0;
        loop {
            let sent = self.world.now();
            match request(&*self.store).answer().await {
                Ok(answer) => {
                    check.round_trips.push((step, self.world.now().since(sent)));
                    return Ok(answer);
                }
                Err(error) => {
                    tries += 1;
                    if tries == TRIES || !error.kind().is_transient() {
                        return Err(Fault::Failed { step, source: error });
                    }
                    self.world.sleep_until(self.world.now().plus(self.policy.pace)).await;
                }
            }
        }
    }

    /// One record is written once a second at most.
    async fn pace(&self) {
        if !self.store.answers_in_place() {
            self.world.sleep_until(self.world.now().plus(self.policy.pace)).await;
        }
    }
}

/// The store's clock stood at `time` at some instant of the round trip; half way is the best guess.
fn offset(sent: StoreTime, time: StoreTime, took: Duration) -> ClockOffset {
    let host = sent.plus(took / 2).as_millis();
    let millis = i64::try_from(time.as_millis().abs_diff(host)).unwrap_or(i64::MAX);
    ClockOffset { millis: if time.as_millis() < host { -millis } else { millis }, error: took / 2 }
}
