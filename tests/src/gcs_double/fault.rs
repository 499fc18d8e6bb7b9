//! What the double does to chosen requests.

use std::ops::Range;
use std::time::Duration;

/// What a request is for. The three kinds of write to a record are told apart by their bodies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A read of a record.
    Load,
    /// A write to the object whose date tells the store's time.
    Clock,
    /// A write of an owner that the double has not seen before, or the same again.
    Claim,
    /// A later expiry for that owner.
    Beat,
    /// The record marked as free.
    Release,
    /// Anything else.
    Other,
}

/// What becomes of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It is not carried out, and this is the answer: a status, and the service's word for the reason.
    Status(u16, &'static str),
    /// It is carried out, and this is the answer.
    StatusOnceDone(u16, &'static str),
    /// It is not carried out, and the connection is reset.
    Reset,
    /// It is carried out, and the connection is reset.
    ResetOnceDone,
    /// It is not carried out, and no answer comes.
    Hang,
    /// It is carried out, and no answer comes.
    HangOnceDone,
    /// It is carried out so much later, and answered then, whether or not somebody still listens.
    Late(Duration),
    /// It is carried out, and the connection is closed in the middle of the answer's body.
    CutReply,
    /// It is carried out, and the answer comes one byte at a time, so far apart.
    Trickle(Duration),
    /// It is carried out, and this is the answer's body.
    Garbled(&'static str),
    /// It is carried out, and dated so many milliseconds ahead of the server's clock.
    Dated(i64),
    /// The object is removed first, as by an operator's hand.
    Removed,
    /// This is written over the object first, as by an operator's hand.
    Replaced(&'static str),
    /// The bucket is deleted first.
    Closed,
    /// None: an exception to the rules that follow.
    Passes,
}

/// The first rule that speaks for a request decides it.
#[derive(Debug)]
pub(super) struct Rule {
    pub(super) kind: Kind,
    pub(super) which: Range<usize>,
    pub(super) fault: Fault,
}
