//! What the checks remember.

use std::collections::{BTreeMap, BTreeSet};

/// An owner as it stands in records: one acquisition, or an operator.
#[derive(Default)]
#[allow(clippy::struct_excessive_bools, reason = "each is known by itself")]
pub(super) struct Owner {
    pub(super) process: u32,
    pub(super) lock: u8,
    /// The expiry of its first body.
    pub(super) claimed: Option<u64>,
    pub(super) has_landed: bool,
    /// When it last wrote, by the process's clock.
    pub(super) sent: u64,
    /// It once wrote again without a pause.
    pub(super) is_hurried: bool,
    /// Bodies that were sent, the last ones.
    pub(super) bodies: Vec<Body>,
    /// The latest first send, by the process's clock, of a body that was carried out.
    pub(super) confirmed: u64,
    /// Whose work runs under it.
    pub(super) call: Option<u32>,
    /// When that work ended.
    pub(super) over: Option<u64>,
    /// It was told of its loss.
    pub(super) is_lost: bool,
    /// The same, of a body whose answer was heard.
    pub(super) heard: u64,
    /// Its claim made a new record with a fence of long ago, having been on its way when the old one was deleted.
    pub(super) is_belated: bool,
    /// An operator changed its record.
    pub(super) forced: Option<u64>,
    /// Another's write replaced its record.
    pub(super) is_overwritten: bool,
    /// Until then the engine surely knows that it holds the lease.
    pub(super) sure_until: u64,
    /// Beats sent since one was answered.
    pub(super) tries: u32,
    /// The last answer left it nearly a whole TTL.
    pub(super) is_whole: bool,
}

#[derive(Clone, Copy)]
pub(super) struct Body {
    pub(super) expires: u64,
    /// When it was sent first: by the process's clock, and in truth.
    pub(super) local: u64,
    pub(super) sent: u64,
}

/// What stands in the store for one lock.
#[derive(Default)]
pub(super) struct Record {
    /// None: there is no record.
    pub(super) owner: u32,
    pub(super) expires: u64,
    pub(super) fence: u64,
    pub(super) since: u64,
    /// The highest that work was started with, and the highest that a claim wrote.
    pub(super) granted: u64,
    pub(super) highest: u64,
    /// Every fence, with its owner.
    pub(super) fences: BTreeMap<u64, u32>,
    /// When an operator last deleted it.
    pub(super) deleted: Option<u64>,
    /// The last call whose work started.
    pub(super) last: u32,
    /// Claims, releases and operators' writes that were carried out.
    pub(super) changes: u64,
    /// Since when, and why, the next grant is awaited.
    pub(super) pending: Option<(Pending, u64)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pending {
    Released,
    Crashed,
}

/// One caller's call.
#[allow(clippy::struct_excessive_bools, reason = "each is known by itself")]
pub(super) struct Call {
    pub(super) process: u32,
    pub(super) lock: u8,
    pub(super) waits: bool,
    pub(super) started: Option<u64>,
    pub(super) owner: u32,
    pub(super) ended: Option<u64>,
    pub(super) lost: bool,
    pub(super) told: bool,
    pub(super) stopped: bool,
}

/// One process.
pub(super) struct Process {
    /// The last time that a fault of its own or of a request of its hit it; it is clean since.
    pub(super) clean_since: u64,
    pub(super) halts: u32,
    pub(super) last_halt: u64,
    /// When it last asked for the store's time.
    pub(super) asked: u64,
    pub(super) has_crashed: bool,
    pub(super) closing: Option<u64>,
    /// Who waits for each lock, and since when somebody always did.
    pub(super) waiting: BTreeMap<u8, (BTreeSet<u32>, u64)>,
    pub(super) credits: BTreeMap<u8, Credit>,
}

/// What a process may send for one lock.
#[derive(Default)]
pub(super) struct Credit {
    /// In nanoseconds of its clock, when last reckoned up.
    pub(super) local: u64,
    pub(super) reads: i64,
    pub(super) claims: i64,
    pub(super) beats: i64,
    pub(super) changes: u64,
}

impl Process {
    pub(super) fn new(now: u64) -> Process {
        Process {
            clean_since: now,
            halts: 0,
            last_halt: 0,
            asked: 0,
            has_crashed: false,
            closing: None,
            waiting: BTreeMap::new(),
            credits: BTreeMap::new(),
        }
    }
}
