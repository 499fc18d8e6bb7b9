//! The ledger of runs and the index that they make: one embedded database, fenced.
//!
//! # Why a lock is not enough
//! A process can stall between its last look at the lock and its write: suspended, swapped out, stopped. By the time
//! it wakes, its lease has lapsed and somebody else runs. No lock can reach into that process and stay its hand; only
//! what it writes to can refuse. So every write brings the fence of its hold, and the ledger remembers the highest one
//! per lock and turns away any lower, **in the transaction of the write itself**: see `admit`, the part to copy.

mod error;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use redb::{Database, Durability, ReadableDatabase, ReadableTable, TableDefinition, WriteTransaction};
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use self::error::LedgerError;
use crate::index::Photo;
use crate::run::{Kind, Run, State};

/// Per lock, the highest fence that has written.
const FENCES: TableDefinition<&str, u64> = TableDefinition::new("fences");
const RUNS: TableDefinition<u64, &[u8]> = TableDefinition::new("runs");
/// Per lock, the run under way: one at most, since the next of its kind abandons it.
const UNDER_WAY: TableDefinition<&str, u64> = TableDefinition::new("under-way");
const PHOTOS: TableDefinition<&str, &[u8]> = TableDefinition::new("photos");

/// How many runs [`Ledger::runs`] lists.
const LATEST: usize = 100;

/// The database. Cheap to clone; clones are one ledger.
#[derive(Debug, Clone)]
pub struct Ledger {
    database: Arc<Database>,
    clock: Clock,
}

/// What a finished run changes in the index.
#[derive(Debug, Default)]
pub struct Change {
    /// Pictures to enter, or to enter anew.
    pub found: Vec<Photo>,
    /// Paths to strike out.
    pub gone: BTreeSet<String>,
}

impl Ledger {
    /// Opens the database at `path`, or makes it.
    ///
    /// # Errors
    /// It is no database, cannot be written, or another process has it open.
    pub fn open(path: &Path) -> Result<Ledger, LedgerError> {
        let database = Database::create(path)?;
        let transaction = database.begin_write()?;
        transaction.open_table(FENCES)?;
        transaction.open_table(RUNS)?;
        transaction.open_table(UNDER_WAY)?;
        transaction.open_table(PHOTOS)?;
        transaction.commit()?;
        Ok(Ledger { database: Arc::new(database), clock: Clock::start() })
    }

    /// Writes down that a run has begun. One of its kind that is still down as running never came back: this one holds
    /// its lock.
    ///
    /// # Errors
    /// The fence is stale, or the database failed.
    pub async fn begin(&self, kind: Kind, fence: u64) -> Result<Run, LedgerError> {
        let clock = self.clock;
        self.write(kind, fence, Durability::Immediate, move |transaction| {
            if let Some(lost) = under_way(&transaction.open_table(UNDER_WAY)?, kind)? {
                let lost = amend(transaction, lost, |run| {
                    run.state = State::Abandoned;
                    run.error = Some(format!("it never came back, and fence {fence} has its lock"));
                })?;
                tracing::warn!(lost.id, lost.fence, "an earlier run never came back: abandoned");
            }
            let mut runs = transaction.open_table(RUNS)?;
            let id = runs.last()?.map_or(0, |(id, _)| id.value()) + 1;
            let run = Run {
                id,
                kind,
                fence,
                state: State::Running,
                started: clock.now(),
                finished: None,
                done: 0,
                total: None,
                error: None,
            };
            runs.insert(id, &*encode(&run)?)?;
            transaction.open_table(UNDER_WAY)?.insert(kind.lock(), id)?;
            Ok(run)
        })
        .await
    }

    /// Writes down how far a run has come. A crash may forget it; it must not slow the run down.
    ///
    /// # Errors
    /// The fence is stale, or the database failed.
    pub async fn progress(&self, run: &Run, done: u64, total: u64) -> Result<(), LedgerError> {
        let id = run.id;
        self.write(run.kind, run.fence, Durability::None, move |transaction| {
            amend(transaction, id, |run| (run.done, run.total) = (done, Some(total)))?;
            Ok(())
        })
        .await
    }

    /// Ends a run that succeeded: its changes and its end are written together, or not at all.
    ///
    /// # Errors
    /// The fence is stale, or the database failed; then nothing has changed.
    pub async fn finish(&self, run: &Run, change: Change) -> Result<Run, LedgerError> {
        let (run, clock) = (run.clone(), self.clock);
        self.write(run.kind, run.fence, Durability::Immediate, move |transaction| {
            let mut photos = transaction.open_table(PHOTOS)?;
            for path in &change.gone {
                photos.remove(&**path)?;
            }
            for photo in &change.found {
                photos.insert(&*photo.path, &*encode(photo)?)?;
            }
            end(transaction, &run, State::Finished, None, clock.now())
        })
        .await
    }

    /// Ends a run that failed; the index stays as it was.
    ///
    /// # Errors
    /// The fence is stale, or the database failed.
    pub async fn fail(&self, run: &Run, error: String) -> Result<Run, LedgerError> {
        let (run, clock) = (run.clone(), self.clock);
        self.write(run.kind, run.fence, Durability::Immediate, move |transaction| {
            end(transaction, &run, State::Failed, Some(error), clock.now())
        })
        .await
    }

    /// The latest hundred runs, the newest first.
    ///
    /// # Errors
    /// The database failed.
    pub async fn runs(&self) -> Result<Vec<Run>, LedgerError> {
        self.blocking(|database| {
            let runs = database.begin_read()?.open_table(RUNS)?;
            runs.iter()?.rev().take(LATEST).map(|entry| decode(entry?.1.value())).collect()
        })
        .await
    }

    /// The run of this kind that is under way.
    ///
    /// # Errors
    /// The database failed.
    pub async fn running(&self, kind: Kind) -> Result<Option<Run>, LedgerError> {
        self.blocking(move |database| {
            let transaction = database.begin_read()?;
            let Some(id) = under_way(&transaction.open_table(UNDER_WAY)?, kind)? else { return Ok(None) };
            let runs = transaction.open_table(RUNS)?;
            let run = runs.get(id)?.ok_or(LedgerError::NoSuchRun(id))?;
            decode(run.value()).map(Some)
        })
        .await
    }

    /// The index, by path.
    ///
    /// # Errors
    /// The database failed.
    pub async fn photos(&self) -> Result<Vec<Photo>, LedgerError> {
        self.blocking(|database| {
            let photos = database.begin_read()?.open_table(PHOTOS)?;
            photos.iter()?.map(|entry| decode(entry?.1.value())).collect()
        })
        .await
    }

    /// One transaction, if the fence is good: all of `change`, or nothing.
    async fn write<T: Send + 'static>(
        &self,
        kind: Kind,
        fence: u64,
        durability: Durability,
        change: impl FnOnce(&WriteTransaction) -> Result<T, LedgerError> + Send + 'static,
    ) -> Result<T, LedgerError> {
        self.blocking(move |database| {
            let mut transaction = database.begin_write()?;
            transaction.set_durability(durability)?;
            admit(&transaction, kind.lock(), fence)?;
            let answer = change(&transaction)?;
            transaction.commit()?;
            Ok(answer)
        })
        .await
    }

    /// Off the threads that serve requests: the database waits for the disk.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Database) -> Result<T, LedgerError> + Send + 'static,
    ) -> Result<T, LedgerError> {
        let database = self.database.clone();
        tokio::task::spawn_blocking(move || work(&database)).await?
    }
}

/// The fence pattern. An equal fence is the same hold writing again; a lower one is a hold that is over.
///
/// It must stand in the transaction of the write that it guards: checked beforehand, the same stall could fall between
/// the check and the write.
fn admit(transaction: &WriteTransaction, lock: &'static str, fence: u64) -> Result<(), LedgerError> {
    let mut fences = transaction.open_table(FENCES)?;
    let highest = fences.get(lock)?.map_or(0, |highest| highest.value());
    if fence < highest {
        return Err(LedgerError::StaleFence { lock, fence, highest });
    }
    fences.insert(lock, fence)?;
    Ok(())
}

fn under_way(table: &impl ReadableTable<&'static str, u64>, kind: Kind) -> Result<Option<u64>, LedgerError> {
    Ok(table.get(kind.lock())?.map(|id| id.value()))
}

fn end(
    transaction: &WriteTransaction,
    run: &Run,
    state: State,
    error: Option<String>,
    finished: String,
) -> Result<Run, LedgerError> {
    transaction.open_table(UNDER_WAY)?.remove(run.kind.lock())?;
    amend(transaction, run.id, |run| {
        (run.state, run.error, run.finished) = (state, error, Some(finished));
    })
}

fn amend(transaction: &WriteTransaction, id: u64, change: impl FnOnce(&mut Run)) -> Result<Run, LedgerError> {
    let mut runs = transaction.open_table(RUNS)?;
    let mut run: Run = decode(runs.get(id)?.ok_or(LedgerError::NoSuchRun(id))?.value())?;
    change(&mut run);
    runs.insert(id, &*encode(&run)?)?;
    Ok(run)
}

fn encode(entry: &impl Serialize) -> Result<Vec<u8>, LedgerError> {
    Ok(serde_json::to_vec(entry)?)
}

fn decode<T: DeserializeOwned>(entry: &[u8]) -> Result<T, LedgerError> {
    Ok(serde_json::from_slice(entry)?)
}

/// Wall time that does not step back while the process lives, so that the ledger's times tell the order of its runs.
#[derive(Debug, Clone, Copy)]
struct Clock {
    wall: SystemTime,
    started: Instant,
}

impl Clock {
    fn start() -> Clock {
        Clock { wall: SystemTime::now(), started: Instant::now() }
    }

    fn now(self) -> String {
        humantime::format_rfc3339_micros(self.wall + self.started.elapsed()).to_string()
    }
}
