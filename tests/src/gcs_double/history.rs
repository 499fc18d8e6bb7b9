//! What has been asked of a bucket, and what came of it.

use std::collections::BTreeMap;
use std::time::Duration;

use tako::backend::{Record, StoreTime};

use super::fault::{Fault, Kind};

/// One request.
#[derive(Debug, Clone)]
pub struct Entry {
    /// When it was read to its end, counted from the double's start.
    pub at: Duration,
    /// What it was for.
    pub kind: Kind,
    /// The object's name.
    pub object: String,
    /// The generation that it expects, zero for none; `None` when it does not say.
    pub if_generation: Option<i64>,
    /// The record that it writes.
    pub record: Option<Record>,
    /// What was done to it.
    pub fault: Option<Fault>,
    /// The generation that it made.
    pub made: Option<i64>,
    /// The status that was sent back.
    pub status: Option<u16>,
}

/// Requests by kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "as the kinds")]
pub struct Counts {
    pub loads: usize,
    pub clocks: usize,
    pub claims: usize,
    pub beats: usize,
    pub releases: usize,
    pub others: usize,
}

impl Counts {
    /// Requests of class A: writes. The clock's are counted apart.
    pub fn writes(&self) -> usize {
        self.claims + self.beats + self.releases
    }
}

/// A history for people: a line for each request.
pub fn log(history: &[Entry]) -> String {
    let line = |entry: &Entry| {
        let Entry { at, kind, if_generation, record, fault, made, status, .. } = entry;
        let owner = record.as_ref().map(|record| record.owner.as_str());
        format!("{at:?} {kind:?} {owner:?} on {if_generation:?}: {fault:?} made {made:?} {status:?}\n")
    };
    history.iter().map(line).collect()
}

#[derive(Debug, Default)]
pub(super) struct History {
    pub(super) entries: Vec<Entry>,
    /// By owner, the expiry that it came with.
    seen: BTreeMap<String, StoreTime>,
}

impl History {
    /// What a write of `record` is for.
    pub(super) fn kind_of(&mut self, record: &Record) -> Kind {
        let Record { owner, expires, .. } = record;
        if record.is_released() {
            return Kind::Release;
        }
        let first = self.seen.entry(owner.as_str().to_owned()).or_insert(*expires);
        if *first == *expires { Kind::Claim } else { Kind::Beat }
    }

    pub(super) fn number_of(&self, kind: Kind) -> usize {
        self.entries.iter().filter(|entry| entry.kind == kind).count()
    }

    pub(super) fn counts(&self) -> Counts {
        Counts {
            loads: self.number_of(Kind::Load),
            clocks: self.number_of(Kind::Clock),
            claims: self.number_of(Kind::Claim),
            beats: self.number_of(Kind::Beat),
            releases: self.number_of(Kind::Release),
            others: self.number_of(Kind::Other),
        }
    }
}
