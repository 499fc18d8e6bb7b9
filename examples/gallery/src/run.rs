//! What the ledger tells of a run.

use serde::{Deserialize, Serialize};

/// One run of a job, from the moment its lock was held.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// Its number in the ledger.
    pub id: u64,
    /// Which job.
    pub kind: Kind,
    /// The number of the hold that it ran under. Later holds of one lock have higher ones.
    pub fence: u64,
    /// Where it stands.
    pub state: State,
    /// When it began: RFC 3339, in UTC.
    pub started: String,
    /// When its end was written down.
    pub finished: Option<String>,
    /// Pictures looked at so far.
    pub done: u64,
    /// Pictures to look at; `None` until they are counted.
    pub total: Option<u64>,
    /// Why it failed or what became of it.
    pub error: Option<String>,
}

/// The jobs of the gallery, each under the lock of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Reads all pictures anew.
    Reindex,
    /// Takes in one picture.
    Import,
}

impl Kind {
    /// The lock that such runs hold, and the register of fences that their writes are checked against.
    pub fn lock(self) -> &'static str {
        match self {
            Kind::Reindex => "reindex",
            Kind::Import => "import",
        }
    }
}

/// Where a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Under way, or its process has died: the next run of its kind tells which.
    Running,
    /// It did what it was for.
    Finished,
    /// It stopped with an error; the index is as it was.
    Failed,
    /// It never came back: a later run found it still running, though its lock was free.
    Abandoned,
}

impl Run {
    /// Whether this run had ended before `later` began, and under a lower fence.
    pub fn precedes(&self, later: &Run) -> bool {
        // The times are of one length and in one zone, so that they compare as text.
        self.finished.as_ref().is_some_and(|finished| *finished <= later.started) && self.fence < later.fence
    }
}

/// Two runs of one job that overlapped, or were granted out of order, if there are any: what the locks are to prevent.
pub fn overlapping(runs: &[Run]) -> Option<(&Run, &Run)> {
    [Kind::Reindex, Kind::Import].into_iter().find_map(|kind| {
        let mut runs: Vec<&Run> = runs.iter().filter(|run| run.kind == kind).collect();
        runs.sort_unstable_by_key(|run| run.id);
        runs.windows(2).find(|pair| !pair[0].precedes(pair[1])).map(|pair| (pair[0], pair[1]))
    })
}
