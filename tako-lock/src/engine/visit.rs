//! Visit: one caller at one lock, from the door to a tenure or a reason why there is none.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use super::Shared;
use super::claim::{Claim, Claimed, Sent};
use super::hold::{Grant, Hold, Tenure};
use super::queue::{Slot, Turn};
use super::scope::{Ending, Scope};
use super::step::{self, Confirmed, Step, View};
use crate::backend::{BackendError, ErrorKind, Owner, StoreTime};
use crate::clock::Moment;
use crate::error::{CancelCause, Cancelled, LockError, Span};
use crate::race::{Race, race};

/// How a caller wants the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// `run`: until it is held.
    Wait,
    /// `try_run`: one attempt.
    Try,
    /// For this tick of a cron, if nobody has claimed it and no earlier run goes on; while the store is failing, until
    /// it answers.
    #[cfg_attr(not(feature = "cron"), expect(dead_code, reason = "crons come with their feature"))]
    Tick(StoreTime),
}

impl Mode {
    pub(super) fn tick(self) -> Option<StoreTime> {
        match self {
            Mode::Tick(tick) => Some(tick),
            Mode::Wait | Mode::Try => None,
        }
    }
}

/// What an attempt came to.
pub(crate) enum Attempt {
    Won(Tenure),
    #[cfg_attr(not(feature = "cron"), expect(dead_code, reason = "a lock does not ask why"))]
    Passed(Passed),
}

/// Why an attempt that does not wait was passed over.
#[cfg_attr(not(feature = "cron"), expect(dead_code, reason = "to a lock they are all one"))]
#[derive(Debug)]
pub(crate) enum Passed {
    /// Somebody holds the lease, as far as is known.
    Held { by: Option<Owner> },
    /// The tick was claimed before, or a later one was. The owner stands in the record.
    Claimed { mark: StoreTime, by: Option<Owner> },
    /// The tick is so far ahead of the store's time.
    Early { by: Duration },
}

/// One caller's attempt.
pub(crate) struct Visit<'a> {
    pub(super) slot: &'a Arc<Slot>,
    pub(super) scope: &'a Scope,
    pub(super) mode: Mode,
    pub(super) since: Moment,
}

/// How a visit began.
#[expect(
    clippy::large_enum_variant,
    reason = "it is matched where it is made, and the large variant waits anyway"
)]
pub(crate) enum Begun<'a> {
    Held(Tenure),
    /// Another task of this process has it, or is ahead.
    #[cfg_attr(not(feature = "cron"), expect(dead_code, reason = "a lock does not ask who"))]
    Busy(Option<Owner>),
    /// It takes waiting: for the queue (`None`), for the store, or for whoever holds the lock.
    Campaign(Visit<'a>, Option<Lead>),
}

/// How far a visit has come before it has to wait.
#[expect(
    clippy::large_enum_variant,
    reason = "a claim on the heap would cost each acquisition an allocation"
)]
pub(crate) enum Lead {
    Turn(Turn),
    Claim(Sent),
}

impl Slot {
    /// Begins a visit, and ends it at once where that takes no waiting: a free record that this process knows, in
    /// a store that answers in place.
    pub(crate) fn begin<'a>(
        self: &'a Arc<Self>,
        scope: &'a Scope,
        mode: Mode,
    ) -> Result<Begun<'a>, LockError> {
        self.admit()?;
        let visit = Visit { slot: self, scope, mode, since: self.shared.world.now() };
        if let Some(ending) = scope.ending() {
            return Err(visit.ended(ending));
        }
        if scope.holds_slot(self) {
            return match mode {
                Mode::Try => Ok(Begun::Busy(None)),
                Mode::Tick(_) => Ok(Begun::Busy(self.holder())),
                Mode::Wait => Err(LockError::Reentrant { lock: self.name.clone() }),
            };
        }
        match (self.try_turn(), mode) {
            (Some(turn), _) => visit.begin(turn),
            (None, Mode::Try) => visit.without_turn().map(|()| Begun::Busy(None)),
            (None, Mode::Wait) => Ok(Begun::Campaign(visit, None)),
            // An earlier run goes on; or a claim is on its way, which may come to nothing.
            (None, Mode::Tick(_)) => Ok(match self.shared.heartbeats.holder_of(self) {
                holder @ Some(_) => Begun::Busy(holder),
                None => Begun::Campaign(visit, None),
            }),
        }
    }
}

impl<'a> Visit<'a> {
    fn begin(self, mut turn: Turn) -> Result<Begun<'a>, LockError> {
        let Shared { store_clock, policy, .. } = &*self.slot.shared;
        let now = self.since;
        let reading = store_clock.read(now);
        let view =
            View { now, store: reading, is_fresh: false, watched: None, tick: self.mode.tick(), policy };
        let Some(free) = turn.notes.free.take_if(|_| store_clock.can_date(reading, policy)) else {
            return Ok(Begun::Campaign(self, Some(Lead::Turn(turn))));
        };
        let Step::Take { expected, fence } = step::judge(self.slot.key.lock(), Some(&free), &view) else {
            return Ok(Begun::Campaign(self, Some(Lead::Turn(turn))));
        };
        let claim = Claim::new(&self, now, reading, turn, expected, fence, Some(free.record));
        match claim.send() {
            Sent::Settled(Claimed::Won { turn, record, mark_before, token, confirmed }) => {
                if let Ok(deadline) = self.useful(&confirmed) {
                    let grant = Grant { record, mark_before, token, since: confirmed.known, deadline };
                    return self.start(turn, grant).map(Begun::Held);
                }
                let won = Claimed::Won { turn, record, mark_before, token, confirmed };
                Ok(Begun::Campaign(self, Some(Lead::Claim(Sent::Settled(won)))))
            }
            sent => Ok(Begun::Campaign(self, Some(Lead::Claim(sent)))),
        }
    }

    /// The deadline of a grant, if enough is left of it to start work.
    ///
    /// # Errors
    /// It came too late, or nobody can tell how long it is good for.
    pub(super) fn useful(&self, confirmed: &Confirmed) -> Result<Moment, BackendError> {
        let policy = &self.slot.shared.policy;
        match step::deadline(confirmed, policy) {
            Some(deadline) if step::is_useful(deadline, confirmed.known, policy) => Ok(deadline),
            Some(_) => {
                let late = Span(confirmed.known.since(confirmed.first_sent));
                let late =
                    format!("the lease was granted too late to be of use, {late} after it was asked for");
                Err(BackendError::new(ErrorKind::UnknownOutcome, late))
            }
            None => Err(BackendError::new(
                ErrorKind::Unavailable,
                "the store's time could not be had, and a lease cannot be dated without",
            )),
        }
    }

    /// Makes the grant a hold, unless nobody is started any more: then it is given back.
    pub(super) fn start(&self, mut turn: Turn, grant: Grant) -> Result<Tenure, LockError> {
        let Visit { slot, scope, .. } = self;
        turn.notes.watched = None;
        turn.notes.next_look = None;
        let tenure = Tenure::new(Hold::new((*slot).clone(), scope, grant), turn);
        let is_kept_up = slot.shared.heartbeats.enrol(tenure.hold(), tenure.hold().since());
        // Enrolled before it is asked: a shutdown that begins in between finds the hold on the book, and one that
        // began earlier is seen here. No waiter is started at shutdown.
        slot.admit()?;
        if !is_kept_up {
            return Err(slot.no_runtime());
        }
        tracing::debug!(
            lock = &*slot.name,
            fence = tenure.hold().fence.get(),
            waited = ?tenure.hold().since().since(self.since),
            "lease acquired"
        );
        Ok(tenure)
    }

    /// What `try_run` answers while another task of this process has the turn.
    fn without_turn(&self) -> Result<(), LockError> {
        let trouble = self.slot.sight().trouble.clone();
        match trouble {
            Some((since, error)) => Err(self.failed(self.slot.shared.world.now().since(since), error)),
            None => Ok(()),
        }
    }

    /// Notes that the store is failing; tells for how long it has.
    pub(super) fn trouble(&self, error: &BackendError) -> Duration {
        let now = self.slot.shared.world.now();
        let mut sight = self.slot.sight();
        let since = sight.trouble.as_ref().map_or(now, |(since, _)| *since);
        if sight.trouble.replace((since, error.clone())).is_none() {
            let lock = &*self.slot.name;
            tracing::warn!(lock, %error, "the store of this lock is failing; its campaign goes on where it can");
        }
        now.since(since)
    }

    pub(super) fn failed(&self, since: Duration, error: BackendError) -> LockError {
        LockError::from_backend(self.slot.name.clone(), self.slot.key.path().into(), since, error)
    }

    pub(super) fn tell_waiting(&self) {
        let holder = self.slot.sight().holder.clone();
        let held_by =
            holder.as_ref().map_or("nobody yet: another task of this process is asking", Owner::as_str);
        tracing::info!(lock = &*self.slot.name, held_by, "waiting for the lease");
    }

    pub(super) fn ended(&self, ending: Ending) -> LockError {
        match ending {
            Ending::Lost(lost) => LockError::Lost(lost),
            Ending::Cancelled { cause, .. } => {
                let waited = self.slot.shared.world.now().since(self.since);
                let held_by = self.slot.holder();
                Cancelled::waiting(cause, self.slot.name.clone(), waited, held_by).into()
            }
        }
    }

    /// `work`, unless the caller's context or the engine ends first.
    pub(super) async fn unless_interrupted<F: Future>(
        &self,
        work: Pin<&mut F>,
    ) -> Result<F::Output, LockError> {
        let closing = &self.slot.shared.closing.token;
        let interruption = async { race(pin!(self.scope.ended()), pin!(closing.cancelled())).await };
        match race(work, pin!(interruption)).await {
            Race::First(done) => Ok(done),
            Race::Second(Race::Second(())) => Err(self.slot.shutting_down()),
            Race::Second(Race::First(())) => {
                let cancelled = || Ending::Cancelled { cause: CancelCause::Cancelled, lock: None };
                Err(self.ended(self.scope.ending().unwrap_or_else(cancelled)))
            }
        }
    }
}
