//! One cell of the fault matrix: one step of a lease's life, and one trouble that befalls it.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tako::backend::Record;
use tako::prelude::{Ctx, Lock, lock};
use tako::{Engine, LockError, LossCause};
use tako_lock_tests::gcs_double::{Bucket, Counts, Entry, Fault, Generations, Kind};
use tako_lock_tests::gcs_engine::{SHORT, engine};
use tako_lock_tests::gcs_server::DOUBLE;

pub(crate) static LOCK: Lock = lock!("reindex");
/// Where its record is.
pub(crate) const OBJECT: &str = "leases/run-gallery-test-reindex";

/// Which request is in trouble.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// The read before anything else, of `run`.
    Look,
    /// The write that takes a lock which nobody had yet, of `run`.
    Claim,
    /// The same, of `try_run`.
    TryClaim,
    /// The write that takes over from a holder that is gone.
    Takeover,
    /// The first heartbeat.
    Beat,
    /// The second one.
    NextBeat,
    /// The write that gives the lease back.
    Release,
}

/// What happens to it: once, where that is not said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trouble {
    Throttled,
    ErrorBefore,
    ErrorAfter,
    ResetBefore,
    ResetAfter,
    Hangs,
    DoneAndHangs,
    LandsLate,
    CutReply,
    Trickle,
    Garbled,
    Timeout408,
    Conflict409,
    RefusedAfter,
    Unknown401,
    Denied403,
    Retention403,
    NoBucket404,
    Deleted,
    NotARecord,
    TakenByForce,
    DatedAhead,
    DatedBehind,
    /// From then on.
    BucketGone,
    /// From then on, for writes.
    OutOfService,
    /// All along.
    RetentionPolicy,
    /// All along.
    GenerationsDown,
    /// All along.
    GenerationsUpAndDown,
    /// All along.
    ClockAhead,
    /// All along.
    ClockBehind,
}

pub(crate) const STEPS: [Step; 7] =
    [Step::Look, Step::Claim, Step::TryClaim, Step::Takeover, Step::Beat, Step::NextBeat, Step::Release];

pub(crate) const TROUBLES: [Trouble; 30] = {
    use Trouble::*;
    [
        Throttled,
        ErrorBefore,
        ErrorAfter,
        ResetBefore,
        ResetAfter,
        Hangs,
        DoneAndHangs,
        LandsLate,
        CutReply,
        Trickle,
        Garbled,
        Timeout408,
        Conflict409,
        RefusedAfter,
        Unknown401,
        Denied403,
        Retention403,
        NoBucket404,
        Deleted,
        NotARecord,
        TakenByForce,
        DatedAhead,
        DatedBehind,
        BucketGone,
        OutOfService,
        RetentionPolicy,
        GenerationsDown,
        GenerationsUpAndDown,
        ClockAhead,
        ClockBehind,
    ]
};

impl Step {
    fn request(self) -> (Kind, usize) {
        match self {
            Step::Look => (Kind::Load, 0),
            Step::Claim | Step::TryClaim | Step::Takeover => (Kind::Claim, 0),
            Step::Beat => (Kind::Beat, 0),
            Step::NextBeat => (Kind::Beat, 1),
            Step::Release => (Kind::Release, 0),
        }
    }

    /// How long the work takes: past the heartbeat in question and whatever it takes to settle it, not as far as the
    /// next one.
    fn work(self) -> Duration {
        match self {
            Step::Beat => SHORT.heartbeat * 8 / 5,
            Step::NextBeat => SHORT.heartbeat * 13 / 5,
            _ => Duration::ZERO,
        }
    }
}

impl Trouble {
    /// Whether it goes on for longer than a lease lasts.
    fn lasts(self) -> bool {
        use Trouble::{BucketGone, NotARecord, OutOfService, RetentionPolicy};
        matches!(self, BucketGone | NotARecord | OutOfService | RetentionPolicy)
    }

    fn befalls(self, (kind, number): (Kind, usize), bucket: &Bucket) {
        let fault = match self {
            Trouble::Throttled => Fault::Status(429, "rateLimitExceeded"),
            Trouble::ErrorBefore | Trouble::OutOfService => Fault::Status(503, "backendError"),
            Trouble::ErrorAfter => Fault::StatusOnceDone(503, "backendError"),
            Trouble::ResetBefore => Fault::Reset,
            Trouble::ResetAfter => Fault::ResetOnceDone,
            Trouble::Hangs => Fault::Hang,
            Trouble::DoneAndHangs => Fault::HangOnceDone,
            Trouble::LandsLate => Fault::Late(SHORT.attempt * 3 / 2),
            Trouble::CutReply => Fault::CutReply,
            Trouble::Trickle => Fault::Trickle(Duration::from_millis(5)),
            Trouble::Garbled => Fault::Garbled("<html>Sign in to the hotel's network</html>"),
            Trouble::Timeout408 => Fault::Status(408, "requestTimeout"),
            Trouble::Conflict409 => Fault::Status(409, "conflict"),
            Trouble::RefusedAfter => Fault::StatusOnceDone(412, "conditionNotMet"),
            Trouble::Unknown401 => Fault::Status(401, "authError"),
            Trouble::Denied403 => Fault::Status(403, "forbidden"),
            Trouble::Retention403 => Fault::Status(403, "retentionPolicyNotMet"),
            Trouble::NoBucket404 => Fault::Status(404, "notFound"),
            Trouble::Deleted => Fault::Removed,
            Trouble::NotARecord => Fault::Replaced("not a record"),
            Trouble::TakenByForce => Fault::Replaced(RIVAL),
            Trouble::BucketGone => Fault::Closed,
            Trouble::DatedAhead => Fault::Dated(7_200_000),
            Trouble::DatedBehind => Fault::Dated(-7_200_000),
            Trouble::RetentionPolicy => return bucket.retain(),
            Trouble::GenerationsDown => return bucket.generations(Generations::Down),
            Trouble::GenerationsUpAndDown => return bucket.generations(Generations::UpAndDown),
            Trouble::ClockAhead => return bucket.set_clock_ahead(7_200_000),
            Trouble::ClockBehind => return bucket.set_clock_ahead(-7_200_000),
        };
        let last = if self == Trouble::OutOfService { usize::MAX } else { number + 1 };
        bucket.on(kind, number..last, fault);
        if self == Trouble::OutOfService {
            bucket.on(Kind::Release, 0..usize::MAX, fault);
        }
    }
}

/// A cell that is ready to be played, on a bucket of its own.
pub(crate) struct Cell {
    pub(crate) step: Step,
    pub(crate) trouble: Trouble,
    bucket: Bucket,
    engine: Engine,
}

impl Cell {
    pub(crate) async fn new(step: Step, trouble: Trouble) -> Cell {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let name = format!("cell-{}", MADE.fetch_add(1, Ordering::Relaxed));
        let bucket = DOUBLE.bucket(&name);
        let engine = engine(&DOUBLE.endpoint(), &name, "P1", SHORT).await;
        bucket.forget();
        Cell { step, trouble, bucket, engine }
    }

    /// What came of it, in the words of the table.
    pub(crate) async fn play(self) -> String {
        let Cell { step, trouble, bucket, engine } = self;
        trouble.befalls(step.request(), &bucket);
        match step {
            Step::Look => bucket.put(OBJECT, FREE.as_bytes()),
            Step::Takeover => bucket.put(OBJECT, DEAD.as_bytes()),
            _ => {}
        }
        let is_long = trouble.lasts() && step.work() > Duration::ZERO;
        let length = if is_long { SHORT.ttl * 2 } else { step.work() };
        let work = async |ctx: Ctx| {
            ctx.until_cancelled(tokio::time::sleep(length)).await;
            ctx.check()
        };
        let ctx = engine.ctx();
        let ended = tokio::time::timeout(length + SHORT.ttl, async {
            match step {
                Step::TryClaim => LOCK.try_run(&ctx, work).await,
                _ => LOCK.run(&ctx, work).await.map(Some),
            }
        });
        let outcome = match ended.await {
            Ok(Ok(Some(()))) => "ran",
            Ok(Ok(None)) => "collapsed",
            Ok(Err(error)) => outcome_of(&error),
            Err(_) => "waits",
        };
        // Whatever goes on in the background ends before the requests are counted, and late ones land.
        let _ = engine.shutdown(SHORT.release).await;
        tokio::time::sleep(SHORT.attempt).await;
        check(&bucket.history());
        let Counts { loads, claims, beats, releases, .. } = bucket.counts();
        format!("{outcome} {loads} {claims} {beats} {releases} {}", left(&bucket))
    }
}

fn outcome_of(error: &LockError) -> &'static str {
    match error {
        LockError::Lost(lost) => match lost.cause() {
            LossCause::Expired { .. } => "expired",
            LossCause::Vanished => "vanished",
            LossCause::Taken { .. } => "taken",
            _ => "lost",
        },
        LockError::Unavailable { .. } => "unavailable",
        LockError::Denied { .. } => "denied",
        LockError::Misconfigured { .. } => "misconfigured",
        LockError::Corrupt { .. } => "corrupt",
        _ => "failed",
    }
}

/// What stands in the record's place.
fn left(bucket: &Bucket) -> &'static str {
    match bucket.body(OBJECT).map(|body| Record::from_json(&body)) {
        None => "none",
        Some(Err(_)) => "junk",
        Some(Ok(record)) if record.is_released() => "free",
        Some(Ok(record)) if record.owner.as_str().starts_with("P1#") => "lapses",
        Some(Ok(_)) => "others",
    }
}

/// What must hold in every cell, whatever befell it.
fn check(history: &[Entry]) {
    let mut released = BTreeSet::new();
    let mut last = None;
    for entry in history.iter().filter(|entry| entry.made.is_some() && entry.object == OBJECT) {
        let record = entry.record.as_ref().expect("no write but of records");
        assert!(entry.if_generation.is_some(), "written on no condition: {entry:?}");
        assert!(!released.contains(record.owner.as_str()), "I9: written after its release: {entry:?}");
        if record.is_released() {
            released.insert(record.owner.as_str().to_owned());
        }
        if entry.kind == Kind::Claim {
            assert!(last < Some(record.fence), "I2: fences grow: {history:#?}");
        } else {
            assert_eq!(last, Some(record.fence), "a hold keeps its fence: {history:#?}");
        }
        last = Some(record.fence);
    }
}

/// A record that was given back.
const FREE: &str =
    r#"{"owner":"past#1","expires":"1970-01-01T00:00:00.000Z","fence":41,"lock":"gallery/test/reindex"}"#;
/// That of a holder who has been gone for hours, by any clock of the tests.
const DEAD: &str =
    r#"{"owner":"gone#1","expires":"2001-01-01T00:00:00.000Z","fence":41,"lock":"gallery/test/reindex"}"#;
/// That of one who is there, by any clock of the tests.
const RIVAL: &str = r#"{"owner":"rival#1","expires":"2999-01-01T00:00:00.000Z","fence":9007199254740991,"lock":"gallery/test/reindex"}"#;
