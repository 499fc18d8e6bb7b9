//! Campaign: looks at the record, waits while it is held, and swaps when it is free.
//!
//! In: a turn of the local queue. Out: a tenure, or why there is none. Campaigners poll with reads, never with
//! writes. A claim that is on its way when the caller goes is settled in the background, and given back if it won.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use super::Shared;
use super::claim::{Claim, Claimed};
use super::hold::{Grant, Hold, Tenure};
use super::queue::{Sight, Slot, Turn};
use super::race::{Race, race};
use super::release::Release;
use super::scope::{Ending, Scope};
use super::step::{self, Confirmed, Step, View};
use super::write::Effort;
use crate::backend::{BackendError, ErrorKind, Owner, Record, Stored, Token};
use crate::clock::Moment;
use crate::error::{CancelCause, Cancelled, LockError, Span, Wait};
use crate::world;

/// How a caller wants the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// `run`: until it is held.
    Wait,
    /// `try_run`: one attempt.
    Try,
}

/// Looks at the store that one `try_run` has: the attempt, and one retry when the store fails.
const TRIES: u32 = 2;
/// Races for a free record that one round may lose before it waits like anyone: a campaigner never polls by writing.
const RACES: u32 = 3;

impl Slot {
    /// Wins the lock for `scope`; `None` only in [`Mode::Try`], when somebody else holds it.
    ///
    /// # Cancel safety
    /// Whatever was on its way is settled in the background: nothing stays held.
    pub(crate) async fn acquire(
        self: &Arc<Self>,
        scope: &Scope,
        mode: Mode,
    ) -> Result<Option<Tenure>, LockError> {
        self.admit()?;
        let visit = Visit { slot: self, scope, mode, since: self.shared.world.now() };
        if let Some(ending) = scope.ending() {
            return Err(visit.ended(ending));
        }
        if scope.holds_slot(self) {
            return match mode {
                Mode::Try => Ok(None),
                Mode::Wait => Err(LockError::Reentrant { lock: self.name.clone() }),
            };
        }
        let turn = match (self.try_turn(), mode) {
            (Some(turn), _) => turn,
            (None, Mode::Try) => return visit.without_turn().map(|()| None),
            (None, Mode::Wait) => {
                visit.tell_waiting();
                visit.unless_interrupted(pin!(self.turn())).await?
            }
        };
        visit.campaign(turn).await
    }
}

/// One caller's attempt.
struct Visit<'a> {
    slot: &'a Arc<Slot>,
    scope: &'a Scope,
    mode: Mode,
    since: Moment,
}

/// What one round of a campaign came to.
enum Round {
    Won(Turn, Grant),
    /// Somebody holds it.
    Held(Turn),
    /// The store is failing, or answered too late to be of use.
    Failed(Turn, BackendError),
    /// As before, and the turn is on its way to be given back.
    GaveUp(BackendError),
}

impl Visit<'_> {
    async fn campaign(&self, mut turn: Turn) -> Result<Option<Tenure>, LockError> {
        let Shared { world, policy, .. } = &*self.slot.shared;
        self.slot.sight().trouble = None;
        // The head before this one has seen it in other hands a moment ago.
        if let (Mode::Wait, Some(next_look)) = (self.mode, turn.notes.next_look) {
            self.unless_interrupted(pin!(world.sleep_until(next_look))).await?;
        }
        let mut tries = 0;
        let mut is_told = false;
        let mut now = self.since;
        loop {
            tries += 1;
            let pause = match self.unless_interrupted(pin!(self.round(turn, now))).await? {
                Round::Won(won, grant) => return self.start(won, grant).await.map(Some),
                Round::Held(kept) => {
                    turn = kept;
                    if self.mode == Mode::Try {
                        return Ok(None);
                    }
                    if !std::mem::replace(&mut is_told, true) {
                        self.tell_waiting();
                    }
                    world::jittered(&**world, policy.poll)
                }
                Round::GaveUp(error) => return Err(self.failed(self.trouble(&error), error)),
                Round::Failed(kept, error) => {
                    turn = kept;
                    let since = self.trouble(&error);
                    let gives_up = self.mode == Mode::Try && tries >= TRIES;
                    if gives_up || !error.kind().is_transient() {
                        return Err(self.failed(since, error));
                    }
                    match (self.mode, error.kind()) {
                        (_, ErrorKind::Throttled) => policy.pace + world::jittered(&**world, policy.retry),
                        (Mode::Try, _) => world::jittered(&**world, policy.retry),
                        (Mode::Wait, _) => world::jittered(&**world, policy.poll),
                    }
                }
            };
            let next_look = world.now().plus(pause);
            turn.notes.next_look = Some(next_look);
            self.unless_interrupted(pin!(world.sleep_until(next_look))).await?;
            now = world.now();
        }
    }

    /// One look at the record, and a claim if it is free.
    async fn round(&self, mut turn: Turn, mut now: Moment) -> Round {
        let Shared { world, store, store_clock, policy, .. } = &*self.slot.shared;
        let mut stored = match turn.notes.free.take() {
            Some(free) => Some(free),
            None => match store.load(&self.slot.key).answer().await {
                Ok(stored) => {
                    now = world.now();
                    stored
                }
                Err(error) => return Round::Failed(turn, error),
            },
        };
        let mut calibration = None;
        for _ in 0..RACES {
            turn.notes.watch(stored.as_ref(), now);
            let step = loop {
                let (store, watched) = (store_clock.read(now), turn.notes.watched.as_ref());
                let step =
                    step::judge(self.slot.key.lock(), stored.as_ref(), &View { now, store, watched, policy });
                let is_needed = match step {
                    Step::Calibrate => true,
                    Step::Take { .. } => !store_clock.can_date(now, policy),
                    Step::Wait | Step::Refuse(_) => false,
                };
                if calibration.is_some() || !is_needed {
                    break step;
                }
                calibration = Some(self.slot.shared.calibrate().await);
                now = world.now();
            };
            let (expected, fence) = match step {
                Step::Take { expected, fence } => (expected, fence),
                Step::Wait => return self.held(turn, stored),
                Step::Refuse(fault) => return Round::Failed(turn, fault.into()),
                // A record that is there is judged by watching it meanwhile; one that is not needs the store's time.
                Step::Calibrate => match calibration.and_then(Result::err) {
                    Some(error) if stored.is_none() || !error.kind().is_transient() => {
                        return Round::Failed(turn, error);
                    }
                    _ => return self.held(turn, stored),
                },
            };
            let extra = stored.map(|stored| stored.record.extra).unwrap_or_default();
            let claim = Claim::new(self.slot, now, turn, expected, fence, extra);
            // A body that could not be settled by then would be won too late.
            let until = now.plus(policy.validity()).minus(policy.useful);
            let effort = match self.mode {
                Mode::Wait => Effort::patient(until),
                Mode::Try => Effort::few(until, TRIES),
            };
            match claim.settle(effort, |error| _ = self.trouble(error)).await {
                Claimed::Won { turn, record, token, confirmed } => {
                    return self.grant(turn, record, token, &confirmed).await;
                }
                Claimed::Lost { turn: kept, found } => (turn, stored, now) = (kept, found, world.now()),
                Claimed::Unsettled { claim, error }
                    if self.mode == Mode::Wait && error.kind().is_transient() =>
                {
                    return Round::Failed(claim.abandon(), error);
                }
                // Nobody is left to wait: dropped, the claim is settled in the background, and keeps the turn.
                Claimed::Unsettled { error, .. } => return Round::GaveUp(error),
            }
        }
        // Lost one race after another: somebody is holding it most of the time.
        self.held(turn, stored)
    }
}

impl Visit<'_> {
    /// A claim landed: a grant if enough of the lease is left, and otherwise given back at once.
    async fn grant(&self, turn: Turn, record: Record, token: Token, confirmed: &Confirmed) -> Round {
        let Shared { world, policy, .. } = &*self.slot.shared;
        let (since, deadline) = (confirmed.known, step::deadline(confirmed, policy));
        if let Some(deadline) = deadline
            && step::is_useful(deadline, since, policy)
        {
            return Round::Won(turn, Grant { record, token, since, deadline });
        }
        let error = match deadline {
            Some(_) => {
                let late = since.since(confirmed.first_sent);
                let late = format!(
                    "the lease was granted too late to be of use, {} after it was asked for",
                    Span(late)
                );
                BackendError::new(ErrorKind::UnknownOutcome, late)
            }
            None => time_unknown(),
        };
        let release = Release::new(self.slot.clone(), world.now(), record, token, turn);
        Round::Failed(release.settle().await, error)
    }

    /// Makes the grant a hold, unless the caller is not to be started any more.
    async fn start(&self, mut turn: Turn, grant: Grant) -> Result<Tenure, LockError> {
        let Visit { slot, scope, .. } = self;
        turn.notes.watched = None;
        turn.notes.next_look = None;
        *slot.sight() = Sight { holder: Some(grant.record.owner.clone()), trouble: None };
        let tenure = Tenure::new(Hold::new((*slot).clone(), scope, grant), turn);
        slot.shared.heartbeats.enrol(tenure.hold(), tenure.hold().since());
        // Enrolled before it is asked: a shutdown that begins in between finds the hold on the book, and one that
        // began earlier is seen here. No waiter is started at shutdown.
        let refusal = match (slot.admit(), scope.ending()) {
            (Err(refusal), _) => refusal,
            (Ok(()), Some(ending)) => self.ended(ending),
            (Ok(()), None) => {
                tracing::debug!(
                    lock = &*slot.name,
                    fence = tenure.hold().fence.get(),
                    waited = ?tenure.hold().since().since(self.since),
                    "lease acquired"
                );
                return Ok(tenure);
            }
        };
        // Lost or given back, it is over either way.
        let _ = tenure.finish().await;
        Err(refusal)
    }

    /// Somebody else has it: what those behind this one in the queue, and messages, go by.
    fn held(&self, turn: Turn, stored: Option<Stored>) -> Round {
        let holder = stored.map(|stored| stored.record.owner);
        *self.slot.sight() = Sight { holder, trouble: None };
        Round::Held(turn)
    }

    /// Notes that the store is failing; tells for how long it has.
    fn trouble(&self, error: &BackendError) -> Duration {
        let now = self.slot.shared.world.now();
        let mut sight = self.slot.sight();
        let since = match &mut sight.trouble {
            Some((since, last)) => {
                *last = error.clone();
                *since
            }
            None => {
                sight.trouble = Some((now, error.clone()));
                let lock = &*self.slot.name;
                tracing::warn!(lock, %error, "the store of this lock is failing; its campaign goes on where it can");
                now
            }
        };
        now.since(since)
    }

    fn failed(&self, since: Duration, error: BackendError) -> LockError {
        LockError::from_backend(self.slot.name.clone(), self.slot.key.path().into(), since, error)
    }

    /// What `try_run` answers while another task of this process has the turn.
    fn without_turn(&self) -> Result<(), LockError> {
        let trouble = self.slot.sight().trouble.clone();
        match trouble {
            Some((since, error)) => Err(self.failed(self.slot.shared.world.now().since(since), error)),
            None => Ok(()),
        }
    }

    fn tell_waiting(&self) {
        let holder = self.slot.sight().holder.clone();
        let held_by =
            holder.as_ref().map_or("nobody yet: another task of this process is asking", Owner::as_str);
        tracing::info!(lock = &*self.slot.name, held_by, "waiting for the lease");
    }

    fn ended(&self, ending: Ending) -> LockError {
        let cause = match ending {
            Ending::Lost(lost) => return LockError::Lost(lost),
            Ending::Cancelled(cause) => cause,
        };
        let waited = self.slot.shared.world.now().since(self.since);
        let held_by = self.slot.sight().holder.clone();
        let wait = Some(Wait { lock: self.slot.name.clone(), waited, held_by });
        LockError::Cancelled(Cancelled { cause, wait })
    }

    /// `work`, unless the caller's context or the engine ends first.
    async fn unless_interrupted<F: Future>(&self, work: Pin<&mut F>) -> Result<F::Output, LockError> {
        let interruption =
            async { race(pin!(self.scope.ended()), pin!(self.slot.shared.closing.token.cancelled())).await };
        match race(work, pin!(interruption)).await {
            Race::First(done) => Ok(done),
            Race::Second(Race::Second(())) => Err(self.slot.shutting_down()),
            Race::Second(Race::First(())) => {
                let ending = self.scope.ending().unwrap_or(Ending::Cancelled(CancelCause::Cancelled));
                Err(self.ended(ending))
            }
        }
    }
}

fn time_unknown() -> BackendError {
    BackendError::new(
        ErrorKind::Unavailable,
        "the store's time could not be had, and a lease cannot be dated without",
    )
}
