//! The engine's own decisions, asked in ticks: `engine/step.rs` and `engine/loss.rs` answer, not a copy of them.

use std::sync::LazyLock;
use std::time::Duration;

use tako::backend::{self, Extra, StoreTime, Stored};
use tako::simulation::decisions::{
    self, Confirmed, Deadline, Reading, Refusal, Standing, Step, View, Watched,
};
use tako::simulation::{Moment, Policy};
use tako_lock_tests::secs;

use super::plants::Plant;
use super::state::{ERROR, Fence, GUARD, HEARTBEAT, MARGIN, Owner, Record, TTL, Ticks, Token, Write};

/// A tick is a second; the present is always here.
const STORE_NOW: u64 = 1_000_000_000;
const NOW: Moment = Moment::from_nanos(1_000 * 1_000_000_000);
/// Where fences lie: before the present, and before every instant that an estimate takes for the present.
const FENCES: u64 = STORE_NOW - 500_000;
/// A fence that is the present: above all others.
const PRESENT: Fence = 127;

fn span(ticks: Ticks) -> Duration {
    secs(u64::try_from(ticks).expect("a span of time"))
}

fn ago(ticks: Ticks) -> Moment {
    NOW.minus(span(ticks))
}

fn store_time(ticks: Ticks) -> StoreTime {
    StoreTime::from_millis(STORE_NOW.saturating_add_signed(i64::from(ticks) * 1_000))
}

fn ticks(span: Duration) -> Ticks {
    Ticks::try_from(span.as_secs()).expect("a model's times are short")
}

fn policy(plant: Option<Plant>) -> Policy {
    let second = secs(1);
    Policy {
        ttl: span(TTL),
        heartbeat: span(HEARTBEAT),
        margin: span(if plant == Some(Plant::NoMargin) { 0 } else { MARGIN }),
        guard: span(if plant == Some(Plant::NoGuard) { 0 } else { GUARD }),
        // The pauses of a campaigner and of a retry: the model leaves them to chance, and allows every one.
        poll: second,
        attempt: second,
        pace: Duration::ZERO,
        retry: Duration::ZERO,
        release: second,
        useful: second,
    }
}

/// What a node knows of the store's time (`engine/store_time.rs`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sight {
    /// It has just asked.
    Exact,
    /// An old estimate, behind by as much as it may be.
    Behind,
    /// The same, ahead.
    Ahead,
    /// Nothing: the store does not say. A body is dated by the host's wall clock, which happens to be right.
    Unknown,
}

impl Sight {
    pub(crate) const ALL: [Sight; 4] = [Sight::Exact, Sight::Behind, Sight::Ahead, Sight::Unknown];

    fn off_by(self) -> Ticks {
        match self {
            Sight::Exact | Sight::Unknown => 0,
            Sight::Behind => -ERROR,
            Sight::Ahead => ERROR,
        }
    }

    pub(crate) fn error(self) -> Option<Ticks> {
        match self {
            Sight::Exact => Some(0),
            Sight::Behind | Sight::Ahead => Some(ERROR),
            Sight::Unknown => None,
        }
    }

    /// How far off the date of a body may be that is made now.
    pub(crate) fn body_error(self) -> Option<Ticks> {
        if self == Sight::Ahead { Some(0) } else { self.error() }
    }

    /// `Shared::expiry_from`
    pub(crate) fn expiry(self) -> Ticks {
        // A body that is dated ahead is good for no longer.
        self.off_by().min(0) + TTL
    }
}

static LOCK: LazyLock<std::sync::Arc<str>> = LazyLock::new(|| "lock".into());
static OWNERS: LazyLock<Vec<backend::Owner>> =
    LazyLock::new(|| (0..32).map(|owner| backend::Owner::new(format!("node#{owner}"))).collect());

fn token(token: Token) -> Option<backend::Token> {
    match token {
        Token::Absent => None,
        Token::Current => Some(backend::Token::from(1)),
        Token::Past => Some(backend::Token::from(2)),
    }
}

fn record(record: Record) -> backend::Record {
    backend::Record {
        owner: OWNERS[usize::from(record.owner)].clone(),
        expires: record.expires.map_or(StoreTime::RELEASED, store_time),
        fence: backend::Fence::new(FENCES + u64::from(record.fence)),
        lock: LOCK.clone(),
        mark: None,
        extra: Extra::default(),
    }
}

fn stored(current: Option<Record>) -> Option<Stored> {
    let token = token(Token::Current)?;
    current.map(|current| Stored { record: record(current), token })
}

/// `step::judge`: the version to claim on, and the fence; `None`: it is not free.
pub(crate) fn judge(
    current: Option<Record>,
    watched: Option<(Token, Ticks)>,
    sight: Sight,
    plant: Option<Plant>,
) -> Option<(Token, Fence)> {
    let early = Ticks::from(plant == Some(Plant::TakeoverOneTickEarly));
    let policy = policy(plant);
    let watched =
        watched.and_then(|(version, age)| Some(Watched { token: token(version)?, since: ago(age) }));
    let view = View {
        now: NOW.plus(span(early)),
        store: sight
            .error()
            .map(|error| Reading { time: store_time(sight.off_by() + early), error: span(error) }),
        is_fresh: sight == Sight::Exact,
        watched: watched.as_ref(),
        tick: None,
        policy: &policy,
    };
    let Step::Take { expected, fence } = decisions::judge(&LOCK, stored(current).as_ref(), &view) else {
        return None;
    };
    let expected = if expected.is_some() { Token::Current } else { Token::Absent };
    let rank = fence.get().checked_sub(FENCES).expect("no fence leads back");
    let fence = Fence::try_from(rank).map_or(PRESENT, |rank| rank.min(PRESENT));
    Some(match (plant, current) {
        (Some(Plant::FenceResetOnCreate), None) => (expected, 0),
        (Some(Plant::FenceKeptOnTakeover), Some(current)) => (expected, current.fence),
        _ => (expected, fence),
    })
}

/// How a refused body stands to what stands in the record.
pub(crate) enum Refused {
    Ours,
    Earlier,
    Others,
}

/// `step::after_refusal`
pub(crate) fn after_refusal(owner: Owner, ours: &Write, current: Option<Record>) -> Refused {
    let ours = record(Record { owner, expires: ours.expires, fence: ours.fence });
    match decisions::after_refusal(&ours, stored(current)) {
        Refusal::Ours(_) => Refused::Ours,
        Refusal::Earlier(_) => Refused::Earlier,
        Refusal::Others(_) => Refused::Others,
    }
}

/// `step::deadline` of a body that landed: how much is left until then, by the node's clock; `None`: nobody can tell.
/// `applied` is what the store's answer says that is left of it, unless the answer was lost.
pub(crate) fn deadline(write: &Write, applied: Option<Ticks>, plant: Option<Plant>) -> Option<Ticks> {
    let expires = store_time(applied.unwrap_or(write.expires?));
    let mut confirmed = Confirmed {
        first_sent: ago(write.made),
        known: NOW,
        applied: applied.map(|_| (ago(write.sent), store_time(0))),
        expires,
        error: write.error.map(span),
    };
    match plant {
        Some(Plant::DeadlineFromTheReply) => {
            confirmed.first_sent = NOW;
            confirmed.applied = Some((NOW, store_time(0)));
            confirmed.expires = store_time(TTL);
        }
        Some(Plant::AdoptedWriteDatedAtItsRead) if applied.is_none() => confirmed.first_sent = NOW,
        Some(Plant::AdoptedWriteTrustsItsEstimate) if applied.is_none() => {
            confirmed.error = Some(Duration::ZERO);
        }
        Some(Plant::StoresDateIgnored) => (confirmed.applied, confirmed.error) = (None, Some(Duration::ZERO)),
        _ => {}
    }
    decisions::deadline(&confirmed, &policy(plant)).map(|deadline| ticks(deadline.since(NOW)))
}

/// `step::is_useful`
pub(crate) fn is_useful(left: Ticks) -> bool {
    decisions::is_useful(NOW.plus(span(left)), NOW, &policy(None))
}

/// `step::beat_due`
pub(crate) fn is_beat_due(left: Ticks) -> bool {
    decisions::beat_due(NOW.plus(span(left)), ago(TTL), &policy(None)) <= NOW
}

/// `loss::Deadline`, whose word says that so much is left.
fn word(left: Ticks) -> Deadline {
    Deadline::new(NOW.plus(span(left)))
}

/// `Deadline::standing`
pub(crate) fn is_live(left: Ticks) -> bool {
    word(left).standing(NOW) == Standing::Live
}

/// `Deadline::extend`; `None`: it is too late for that.
pub(crate) fn extend(left: Ticks, to: Ticks) -> Option<Ticks> {
    let word = word(left);
    (word.extend(NOW, NOW.plus(span(to))) == Standing::Live)
        .then(|| word.get().map_or(0, |at| ticks(at.since(NOW))))
}

/// `Deadline::end`: whether there is something to give back.
pub(crate) fn end(left: Ticks) -> bool {
    word(left).end(NOW) == Standing::Live
}
