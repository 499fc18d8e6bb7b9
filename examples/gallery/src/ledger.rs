//! The ledger of runs and the index that they make: one embedded database, fenced.
//!
//! # Why a lock is not enough
//! A process can stall between its last look at the lock and its write: suspended, swapped out, stopped. By the time
//! it wakes, its lease has lapsed and somebody else runs. No lock can reach into that process and hold its hand; only
//! what it writes to can refuse. So every write brings the fence of its hold, and the ledger remembers the highest one
//! per lock and turns away any lower, **in the transaction of the write itself**: see `admit`, the part to copy.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use redb::{
    Database, Durability, ReadableDatabase, ReadableTable, TableDefinition, TableError, WriteTransaction,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::task::JoinError;

use crate::index::Photo;
use crate::run::{Kind, Run, State};

/// Per lock, the highest fence that has written.
const FENCES: TableDefinition<&str, u64> = TableDefinition::new("fences");
const RUNS: TableDefinition<u64, &[u8]> = TableDefinition::new("runs");
const PHOTOS: TableDefinition<&str, &[u8]> = TableDefinition::new("photos");

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

/// Why the ledger did not do as asked.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// A later hold of the lock has written: whoever asks has lost the lock, whether it knows or not.
    #[error(
        "the ledger refuses a write under fence {fence} of lock \"{lock}\": fence {highest} has written since, so \
         this run lost the lock and another has begun"
    )]
    StaleFence {
        /// The lock that the run held.
        lock: &'static str,
        /// The fence that came with the write.
        fence: u64,
        /// The highest one seen.
        highest: u64,
    },
    /// No such run.
    #[error("the ledger has no run {0}")]
    NoSuchRun(u64),
    /// An entry is not what this program writes.
    #[error("an entry of the ledger cannot be read or written as JSON")]
    Entry(#[from] serde_json::Error),
    /// The database failed.
    #[error("the ledger's database failed")]
    Database(#[source] Box<redb::Error>),
    /// The thread that did the work died.
    #[error("the thread that worked on the ledger died")]
    Died(#[from] JoinError),
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
        transaction.open_table(PHOTOS)?;
        transaction.commit()?;
        Ok(Ledger { database: Arc::new(database), clock: Clock::start() })
    }

    /// Writes down that a run has begun. Runs of its kind that are still down as running are abandoned by that: this
    /// one holds their lock.
    ///
    /// # Errors
    /// The fence is stale, or the database failed.
    pub async fn begin(&self, kind: Kind, fence: u64) -> Result<Run, LedgerError> {
        let clock = self.clock;
        self.write(kind, fence, Durability::Immediate, move |transaction| {
            let mut runs = transaction.open_table(RUNS)?;
            let mut lost = Vec::new();
            for entry in runs.iter()? {
                let run: Run = decode(entry?.1.value())?;
                if run.kind == kind && run.state == State::Running {
                    lost.push(run);
                }
            }
            let error = Some(format!("it never came back; the run under fence {fence} found the lock free"));
            for run in lost {
                tracing::warn!(run.id, run.fence, "an earlier run never came back: abandoned");
                let run = Run { state: State::Abandoned, error: error.clone(), ..run };
                runs.insert(run.id, &*encode(&run)?)?;
            }
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
        let (id, clock) = (run.id, self.clock);
        self.write(run.kind, run.fence, Durability::Immediate, move |transaction| {
            let mut photos = transaction.open_table(PHOTOS)?;
            for path in &change.gone {
                photos.remove(&**path)?;
            }
            for photo in &change.found {
                photos.insert(&*photo.path, &*encode(photo)?)?;
            }
            amend(transaction, id, |run| {
                run.state = State::Finished;
                run.finished = Some(clock.now());
            })
        })
        .await
    }

    /// Ends a run that failed; the index stays as it was.
    ///
    /// # Errors
    /// The fence is stale, or the database failed.
    pub async fn fail(&self, run: &Run, error: String) -> Result<Run, LedgerError> {
        let (id, clock) = (run.id, self.clock);
        self.write(run.kind, run.fence, Durability::Immediate, move |transaction| {
            amend(transaction, id, |run| {
                run.state = State::Failed;
                run.finished = Some(clock.now());
                run.error = Some(error);
            })
        })
        .await
    }

    /// All runs, the latest first.
    ///
    /// # Errors
    /// The database failed.
    pub async fn runs(&self) -> Result<Vec<Run>, LedgerError> {
        self.read(|database| {
            let runs = database.begin_read()?.open_table(RUNS)?;
            runs.iter()?.rev().map(|entry| decode(entry?.1.value())).collect()
        })
        .await
    }

    /// The run of this kind that is under way.
    ///
    /// # Errors
    /// The database failed.
    pub async fn running(&self, kind: Kind) -> Result<Option<Run>, LedgerError> {
        let runs = self.runs().await?;
        Ok(runs.into_iter().find(|run| run.kind == kind && run.state == State::Running))
    }

    /// The index, by path.
    ///
    /// # Errors
    /// The database failed.
    pub async fn photos(&self) -> Result<Vec<Photo>, LedgerError> {
        self.read(|database| {
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
        self.read(move |database| {
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
    async fn read<T: Send + 'static>(
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

macro_rules! database_errors {
    ($($error:ty),*) => { $(
        impl From<$error> for LedgerError {
            fn from(error: $error) -> LedgerError {
                LedgerError::Database(Box::new(error.into()))
            }
        }
    )* };
}

database_errors!(
    redb::CommitError,
    redb::DatabaseError,
    redb::SetDurabilityError,
    redb::StorageError,
    redb::TransactionError,
    TableError
);
