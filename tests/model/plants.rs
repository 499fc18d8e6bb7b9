//! Wrong protocols, each with one mistake that is easily made. The checker has to find every one of them.

/// One mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Plant {
    DeadlineFromTheReply,
    AdoptedWriteDatedAtItsRead,
    AdoptedWriteTrustsItsEstimate,
    StoresDateIgnored,
    NoMargin,
    NoGuard,
    TakeoverOneTickEarly,
    WatchedSinceAnyVersion,
    TimeoutTakenForSuccess,
    RefusalTakenForSuccess,
    RefusalTakenForLoss,
    RenewalWithoutTheToken,
    ReleaseWithoutTheToken,
    ReleaseOverAnothersRecord,
    LateGrantStarted,
    FenceResetOnCreate,
    FenceKeptOnTakeover,
    BeatPastTheDeadline,
    ReleaseAfterTheLoss,
    NoLatch,
}

/// Each, and the property that finds it first.
pub(crate) const PLANTS: [(Plant, &str); 20] = [
    (Plant::DeadlineFromTheReply, "I1 exclusion"),
    (Plant::AdoptedWriteDatedAtItsRead, "I1 exclusion"),
    (Plant::AdoptedWriteTrustsItsEstimate, "I1 exclusion"),
    (Plant::StoresDateIgnored, "I1 exclusion"),
    (Plant::NoMargin, "I1 exclusion"),
    (Plant::NoGuard, "I1 exclusion"),
    (Plant::TakeoverOneTickEarly, "I1 exclusion"),
    (Plant::WatchedSinceAnyVersion, "I1 exclusion"),
    (Plant::TimeoutTakenForSuccess, "I1 exclusion"),
    (Plant::RefusalTakenForSuccess, "I1 exclusion"),
    (Plant::RefusalTakenForLoss, "I5 no false loss"),
    (Plant::RenewalWithoutTheToken, "I3 exactness"),
    (Plant::ReleaseWithoutTheToken, "I3 exactness"),
    (Plant::ReleaseOverAnothersRecord, "I3 exactness"),
    (Plant::LateGrantStarted, "I2 fences grow"),
    (Plant::FenceResetOnCreate, "I2 fences grow"),
    (Plant::FenceKeptOnTakeover, "I2 fences grow"),
    (Plant::BeatPastTheDeadline, "I9 no write after the end"),
    (Plant::ReleaseAfterTheLoss, "I9 no write after the end"),
    (Plant::NoLatch, "I4 loss is told"),
];
