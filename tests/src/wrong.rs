//! Stores that are wrong, each in one way, so that the conformance suite can show that it sees it.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tako::backend::{
    BackendError, ErrorKind, Extra, Fence, Key, LeaseBackend, MemoryLease, Owner, Record, StoreTime, Stored,
    Swap, Token,
};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::task::yield_now;

/// What is wrong with a [`Wrong`] store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Fault {
    SaysYesToEverything,
    SaysNoToEverything,
    IgnoresTheExpectedToken,
    TakesExpectingNothingForNotCaring,
    CreatesForAToken,
    RefusesAndWrites,
    RefusesWithAnError,
    AppliesEverySeventhAndSaysRefused,
    LoadsTheTokenBefore,
    AnswersTheTokenBefore,
    HashesTheRecordForAToken,
    CountsTokensInAByte,
    RemembersItsReads,
    RemembersItsOwnWrites,
    FailsOnAnAbsentKey,
    ForgetsReleasedRecords,
    CutsOwners,
    KeepsFencesSigned,
    KeepsFencesAsFloats,
    KeepsWholeSeconds,
    KeepsNoIdentity,
    ForgetsMarks,
    ForgetsUnknownFields,
    EndsKeysAtADoubledHyphen,
    CutsPaths,
    TurnsItsClockBack,
    HasAClockThatStands,
    CountsMicroseconds,
    DatesWritesByAnotherClock,
    ChecksThenActs,
    ChecksThenActsUnderLoad,
    ChecksThenActsWithoutWaiting,
    ChecksThenCreates,
    WritesInHalves,
    HangsAfterADroppedSwap,
}

/// A table in memory with a [`Fault`].
#[derive(Debug)]
pub struct Wrong {
    fault: Fault,
    table: Arc<Mutex<Table>>,
    turn: Arc<Semaphore>,
    /// One reference for each request under way, and one more.
    under_way: Arc<()>,
    clock: MemoryLease,
    /// What this instance remembers, where its fault is to remember.
    memory: Mutex<BTreeMap<String, Option<Stored>>>,
}

#[derive(Debug, Default)]
struct Table {
    records: BTreeMap<String, Versions>,
    writes: u64,
    readings: u64,
}

#[derive(Debug)]
struct Versions {
    present: Stored,
    before: Token,
}

impl Wrong {
    /// An empty table.
    pub fn new(fault: Fault) -> Wrong {
        Wrong {
            fault,
            table: Arc::default(),
            turn: Arc::new(Semaphore::new(1)),
            under_way: Arc::default(),
            clock: MemoryLease::new(),
            memory: Mutex::default(),
        }
    }

    /// Another instance over the same table.
    #[must_use]
    pub fn beside(&self) -> Wrong {
        Wrong { table: self.table.clone(), turn: self.turn.clone(), ..Wrong::new(self.fault) }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn memory(&self) -> MutexGuard<'_, BTreeMap<String, Option<Stored>>> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn path(&self, key: &Key) -> String {
        let path = key.path();
        match self.fault {
            Fault::EndsKeysAtADoubledHyphen => path.split("--").next().unwrap_or_default().into(),
            Fault::CutsPaths => path.chars().take(255).collect(),
            _ => path.into(),
        }
    }

    fn is_expected(&self, path: &str, expected: Option<&Token>) -> bool {
        let table = self.table();
        let stored = table.records.get(path).map(|versions| &versions.present);
        match (self.fault, stored, expected) {
            (Fault::SaysNoToEverything, ..) => false,
            (Fault::SaysYesToEverything | Fault::IgnoresTheExpectedToken, ..)
            | (Fault::TakesExpectingNothingForNotCaring, _, None)
            | (Fault::CreatesForAToken, None, Some(_)) => true,
            (_, stored, expected) => stored.map(|stored| &stored.token) == expected,
        }
    }

    fn kept(&self, key: &Key, record: &Record) -> Record {
        let mut kept = record.clone();
        match self.fault {
            Fault::CutsOwners => {
                kept.owner = Owner::new(kept.owner.as_str().chars().take(64).collect::<String>());
            }
            Fault::KeepsFencesSigned => {
                let signed = i64::try_from(kept.fence.get()).unwrap_or(i64::MAX);
                kept.fence = Fence::new(signed.unsigned_abs());
            }
            Fault::KeepsFencesAsFloats => {
                #[expect(
                    clippy::cast_precision_loss,
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss
                )]
                let fence = kept.fence.get() as f64 as u64;
                kept.fence = Fence::new(fence);
            }
            Fault::KeepsWholeSeconds => {
                kept.expires = StoreTime::from_millis(kept.expires.as_millis() / 1_000 * 1_000);
            }
            Fault::KeepsNoIdentity => kept.lock = key.lock().clone(),
            Fault::ForgetsMarks => kept.mark = None,
            Fault::ForgetsUnknownFields => kept.extra = Extra::NONE,
            _ => {}
        }
        kept
    }

    fn write(&self, key: &Key, record: &Record, at: StoreTime) -> Swap {
        let mut table = self.table();
        table.writes += 1;
        let writes = table.writes;
        let token = match self.fault {
            Fault::HashesTheRecordForAToken => {
                let mut hasher = DefaultHasher::new();
                hasher.write(format!("{record:?}").as_bytes());
                Token::from(hasher.finish())
            }
            Fault::CountsTokensInAByte => Token::from(writes % 256),
            _ => Token::from(writes),
        };
        if self.fault == Fault::SaysYesToEverything {
            return Swap::Applied { token, at: None };
        }
        let present = Stored { record: self.kept(key, record), token: token.clone() };
        let path = self.path(key);
        let before = table.records.get(&path).map_or(&token, |versions| &versions.present.token).clone();
        if self.fault == Fault::RemembersItsOwnWrites {
            self.memory().insert(path.clone(), Some(present.clone()));
        }
        table.records.insert(path, Versions { present, before: before.clone() });
        match self.fault {
            Fault::AnswersTheTokenBefore => Swap::Applied { token: before, at: Some(at) },
            Fault::AppliesEverySeventhAndSaysRefused if writes.is_multiple_of(7) => Swap::Refused,
            Fault::DatesWritesByAnotherClock => {
                Swap::Applied { token, at: Some(at.plus(Duration::from_secs(30))) }
            }
            _ => Swap::Applied { token, at: Some(at) },
        }
    }
}

impl LeaseBackend for Wrong {
    async fn load(&self, key: &Key) -> Result<Option<Stored>, BackendError> {
        let path = self.path(key);
        let mut stored = self.table().records.get(&path).map(|versions| match self.fault {
            Fault::LoadsTheTokenBefore => {
                Stored { token: versions.before.clone(), ..versions.present.clone() }
            }
            _ => versions.present.clone(),
        });
        match self.fault {
            Fault::FailsOnAnAbsentKey if stored.is_none() => {
                return Err(BackendError::new(ErrorKind::Misconfigured, format!("there is no {path}")));
            }
            Fault::ForgetsReleasedRecords => stored = stored.filter(|stored| !stored.record.is_released()),
            Fault::RemembersItsReads => return Ok(self.memory().entry(path).or_insert(stored).clone()),
            Fault::RemembersItsOwnWrites => return Ok(self.memory().get(&path).cloned().unwrap_or(stored)),
            _ => {}
        }
        Ok(stored)
    }

    async fn swap(&self, key: &Key, expected: Option<&Token>, record: &Record) -> Result<Swap, BackendError> {
        let path = self.path(key);
        let _under_way = self.under_way.clone();
        let mut turn = None;
        match self.fault {
            Fault::WritesInHalves => turn = self.turn.acquire().await.ok(),
            Fault::HangsAfterADroppedSwap => {
                turn = self.turn.acquire().await.ok();
                let kept = turn.take().map(SemaphorePermit::forget);
                yield_now().await;
                if kept.is_some() {
                    self.turn.add_permits(1);
                }
            }
            Fault::ChecksThenActsUnderLoad => yield_now().await,
            _ => {}
        }
        let is_expected = self.is_expected(&path, expected);
        match self.fault {
            Fault::ChecksThenActs => yield_now().await,
            Fault::ChecksThenActsWithoutWaiting => std::thread::sleep(Duration::from_millis(10)),
            Fault::ChecksThenCreates if expected.is_none() => yield_now().await,
            Fault::ChecksThenActsUnderLoad if Arc::strong_count(&self.under_way) > 5 => yield_now().await,
            _ => {}
        }
        let answer = if is_expected {
            if self.fault == Fault::WritesInHalves {
                if let Some(versions) = self.table().records.get_mut(&path) {
                    versions.present.record.clone_from(record);
                }
                yield_now().await;
            }
            Ok(self.write(key, record, self.clock.now().await?))
        } else {
            match (self.fault, self.table().records.get_mut(&path)) {
                (Fault::RefusesAndWrites, Some(versions)) => versions.present.record.clone_from(record),
                (Fault::RefusesWithAnError, _) => {
                    let message = format!("{path} has another version");
                    return Err(BackendError::new(ErrorKind::Misconfigured, message));
                }
                _ => {}
            }
            Ok(Swap::Refused)
        };
        drop(turn);
        answer
    }

    async fn now(&self) -> Result<StoreTime, BackendError> {
        let now = self.clock.now().await?;
        self.table().readings += 1;
        let minutes = self.table().readings % 3;
        Ok(match self.fault {
            Fault::TurnsItsClockBack => now.plus(Duration::from_mins(minutes)),
            Fault::HasAClockThatStands => StoreTime::from_millis(1_796_126_400_000),
            Fault::CountsMicroseconds => StoreTime::from_millis(now.as_millis() * 100),
            _ => now,
        })
    }
}
