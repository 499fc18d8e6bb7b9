//! What a simulation's history consists of.
#![allow(missing_docs, reason = "the fields are told of in the variants")]

use std::fmt;

use super::plan::Fault;
pub use crate::calls::Verb;

/// How a user saw its lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Look {
    /// Held.
    Held,
    /// Told to stop, with the lease still kept up.
    Stop,
    /// Lost.
    Lost,
}

/// How a call came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Back {
    /// The work was done.
    Done,
    /// `try_run`: somebody else has it.
    Busy,
    /// The work's own error.
    Failed,
    /// The lease was lost.
    Lost,
    /// The caller's context ended.
    Cancelled,
    /// The engine is closed.
    Closed,
    /// The store gave no answer.
    Unavailable,
    /// The future was dropped.
    Dropped,
    /// What no simulated store gives cause for.
    Unexpected,
}

/// Why a lease was lost, as its holder was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cause {
    /// Another has it, with this fence.
    Taken(u64),
    /// The record is gone or free.
    Vanished,
    /// Not renewed in time.
    Expired,
}

/// One event. `process` and `call` are numbers that no other has; `owner` numbers the owners in records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Event {
    /// A process starts.
    Born { process: u32, node: u8 },
    /// A caller asks for a lock, and waits for it if need be.
    Called { process: u32, lock: u8, call: u32, waits: bool },
    /// A caller has its answer.
    Back { process: u32, lock: u8, call: u32, how: Back },
    /// A request leaves its process, whose monotonic clock shows `local`. `fault`: what will befall it.
    Sent { process: u32, lock: u8, verb: Verb, owner: u32, expires: u64, local: u64, fault: Option<Fault> },
    /// The store was asked for a write that a process sent at `sent`, and carried it out or not.
    Landed {
        process: u32,
        lock: u8,
        verb: Verb,
        owner: u32,
        expires: u64,
        fence: u64,
        sent: u64,
        is_applied: bool,
    },
    /// The true answer to a write is back at its process, within the time that a request may take.
    Heard { process: u32, lock: u8, verb: Verb, owner: u32, sent: u64 },
    /// A user's work starts, while its process's clock shows `local`.
    Started { process: u32, lock: u8, call: u32, fence: u64, local: u64 },
    /// A user looks, while its process's clock shows `local`.
    Looked { call: u32, look: Look, local: u64 },
    /// A user's work looked, and acts.
    Acted { call: u32, fence: u64, looked: bool },
    /// A user learns why.
    Told { call: u32, cause: Cause },
    /// A user's work is over: it returned or was dropped.
    Ended { call: u32 },
    /// Something goes wrong with a node, for so long.
    Struck { fault: Fault, process: u32, length: u64 },
    /// And is well again.
    Well { process: u32 },
    /// An operator has changed the record of a lock to this; no owner: there is none any more.
    Forced { lock: u8, fault: Fault, owner: u32, expires: u64, fence: u64 },
    /// An engine has shut down, or given up on what is left, while its clock shows `local`.
    Closed { process: u32, is_clean: bool, local: u64 },
    /// No more faults from here on.
    Quiet,
}

impl Event {
    /// The process that it is about, where there is one.
    pub fn process(&self) -> Option<u32> {
        match *self {
            Event::Born { process, .. }
            | Event::Called { process, .. }
            | Event::Back { process, .. }
            | Event::Sent { process, .. }
            | Event::Landed { process, .. }
            | Event::Heard { process, .. }
            | Event::Started { process, .. }
            | Event::Struck { process, .. }
            | Event::Well { process }
            | Event::Closed { process, .. } => Some(process),
            _ => None,
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}
