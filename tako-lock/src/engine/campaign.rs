//! Campaign: looks at the record, waits while it is held, and swaps when it is free.
//!
//! In: a visit that has to wait. Out: a tenure, or why there is none. Campaigners poll with reads, never with writes.
//! A claim that is on its way when the caller goes is settled in the background, and given back if it won.

use std::pin::pin;

use super::Shared;
use super::claim::{Claim, Claimed, Sent};
use super::hold::Grant;
use super::queue::{Sight, Turn};
use super::release::Release;
use super::step::{self, Step, View};
use super::visit::{Attempt, Lead, Mode, Passed, Visit};
use super::write::Effort;
use crate::backend::{BackendError, ErrorKind, Record, Stored};
use crate::clock::Moment;
use crate::error::LockError;

/// Looks at the store that one `try_run` has: the attempt, and one retry when the store fails.
const TRIES: u32 = 2;
/// Races for a free record that one round may lose before it waits like anyone: a campaigner never polls by writing.
const RACES: u32 = 3;

/// What one round of a campaign came to.
enum Round {
    Won(Turn, Grant),
    /// Somebody holds it.
    Held(Turn),
    /// It is not to be had for this tick.
    Passed(Passed),
    /// The store is failing, or answered too late to be of use.
    Failed(Turn, BackendError),
    /// As before, and the turn is on its way to be given back.
    GaveUp(BackendError),
}

impl Visit<'_> {
    /// Wins the lock; it is passed over in no case in [`Mode::Wait`], and in [`Mode::Try`] only while somebody holds it.
    ///
    /// # Cancel safety
    /// Whatever was on its way is settled in the background: nothing stays held.
    pub(crate) async fn campaign(&self, lead: Option<Lead>) -> Result<Attempt, LockError> {
        let Shared { world, policy, .. } = &*self.slot.shared;
        if !world.is_reachable() {
            return Err(self.slot.no_runtime());
        }
        let (mut lead, mut now) = if let Some(lead) = lead {
            (lead, self.since)
        } else {
            self.tell_waiting();
            let turn = self.unless_interrupted(pin!(self.slot.turn())).await?;
            (Lead::Turn(turn), world.now())
        };
        if let (Lead::Turn(turn), Mode::Wait) = (&lead, self.mode)
            && let Some(next_look) = turn.notes.next_look
        {
            // The head before this one has seen it in other hands a moment ago.
            self.unless_interrupted(pin!(world.sleep_until(next_look))).await?;
            now = world.now();
        }
        self.slot.sight().trouble = None;
        let mut tries = 0;
        let mut is_told = false;
        loop {
            tries += 1;
            let (mut turn, pause) = match self.unless_interrupted(pin!(self.round(lead, now))).await? {
                Round::Won(turn, grant) => {
                    *self.slot.sight() = Sight::default();
                    let tenure = self.start(turn, grant)?;
                    // Given back when it is dropped: whoever is not to go on is not started.
                    let ended = |ending| Err(self.ended(ending));
                    return self.scope.ending().map_or(Ok(Attempt::Won(tenure)), ended);
                }
                Round::Passed(passed) => return Ok(Attempt::Passed(passed)),
                Round::Held(_) if self.mode != Mode::Wait => {
                    // It is not this process: whoever has the turn would be the one.
                    return Ok(Attempt::Passed(Passed::Held { by: self.slot.sight().holder.clone() }));
                }
                Round::Held(turn) => {
                    if !std::mem::replace(&mut is_told, true) {
                        self.tell_waiting();
                    }
                    (turn, world.jittered(policy.poll))
                }
                Round::Failed(turn, error) => {
                    let since = self.trouble(&error);
                    let gives_up = self.mode == Mode::Try && tries >= TRIES;
                    if gives_up || !error.kind().is_transient() {
                        return Err(self.failed(since, error));
                    }
                    let is_quick = self.mode == Mode::Try || error.kind() == ErrorKind::Throttled;
                    let mean = if is_quick { policy.retry } else { policy.poll };
                    (turn, self.slot.shared.pause_after(error.kind(), mean))
                }
                Round::GaveUp(error) => return Err(self.failed(self.trouble(&error), error)),
            };
            let next_look = world.now().plus(pause);
            turn.notes.next_look = Some(next_look);
            self.unless_interrupted(pin!(world.sleep_until(next_look))).await?;
            (lead, now) = (Lead::Turn(turn), world.now());
        }
    }

    /// One look at the record, and a claim if it is free.
    async fn round(&self, lead: Lead, now: Moment) -> Round {
        let claim = match lead {
            Lead::Claim(sent) => Ok(sent),
            Lead::Turn(turn) => self.look(turn, now).await,
        };
        let mut claimed = match claim {
            Ok(sent) => self.settle(sent).await,
            Err(round) => return round,
        };
        let mut races = 0;
        loop {
            let (turn, found) = match claimed {
                Claimed::Lost { turn, found } => (turn, found),
                Claimed::Won { turn, record, mark_before, token, confirmed } => match self.useful(&confirmed)
                {
                    Ok(deadline) => {
                        let since = confirmed.known;
                        return Round::Won(turn, Grant { record, mark_before, token, since, deadline });
                    }
                    Err(error) => {
                        let Shared { world, heartbeats, .. } = &*self.slot.shared;
                        let (slot, number) = (self.slot.clone(), heartbeats.number());
                        let record = Record { mark: mark_before, ..record };
                        let release = Release::of_claim(slot, number, world.now(), record, token, turn);
                        return Round::Failed(release.settle().await, error);
                    }
                },
                // Known not to have landed, or given up after a long time of trying: the next look starts afresh.
                Claimed::Unsettled { claim, error }
                    if error.kind().is_transient() && (self.mode == Mode::Wait || !claim.may_land()) =>
                {
                    return Round::Failed(claim.abandon(), error);
                }
                // Nobody is left to wait: dropped, the claim is settled in the background, and keeps the turn.
                Claimed::Unsettled { error, .. } => return Round::GaveUp(error),
            };
            races += 1;
            if races == RACES {
                // Somebody is holding it most of the time.
                return self.held(turn, found);
            }
            claimed = match self.claim(turn, found, self.slot.shared.world.now()).await {
                Ok(sent) => self.settle(sent).await,
                Err(round) => return round,
            };
        }
    }

    /// Reads the record, unless this process has written it itself and it was free.
    async fn look(&self, mut turn: Turn, now: Moment) -> Result<Sent, Round> {
        let Shared { world, store, .. } = &*self.slot.shared;
        // That a tick was claimed is told by the record itself: an operator may have mended a mark since.
        let is_open = |free: &Stored| self.mode.tick().is_none_or(|tick| free.record.mark < Some(tick));
        if let Some(free) = turn.notes.free.take().filter(is_open) {
            return self.claim(turn, Some(free), now).await;
        }
        match store.load(&self.slot.key).answer().await {
            Ok(stored) => self.claim(turn, stored, world.now()).await,
            Err(error) => Err(Round::Failed(turn, error)),
        }
    }

    /// Claims the lock if `stored`, as it was read at `now`, is free.
    async fn claim(&self, mut turn: Turn, stored: Option<Stored>, mut now: Moment) -> Result<Sent, Round> {
        let Shared { world, store_clock, policy, .. } = &*self.slot.shared;
        turn.notes.watch(stored.as_ref(), now);
        let mut calibration = None;
        let (step, reading) = loop {
            let (store, watched) = (store_clock.read(now), turn.notes.watched.as_ref());
            let (is_fresh, tick) = (matches!(calibration, Some(Ok(()))), self.mode.tick());
            let view = View { now, store, is_fresh, watched, tick, policy };
            let step = step::judge(self.slot.key.lock(), stored.as_ref(), &view);
            let is_needed = match step {
                Step::Calibrate => true,
                Step::Take { .. } => !store_clock.can_date(store, policy),
                Step::Wait | Step::Spent { .. } | Step::Early { .. } | Step::Refuse(_) => false,
            };
            if calibration.is_some() || !is_needed {
                break (step, store);
            }
            calibration = Some(self.slot.shared.calibrate().await);
            now = world.now();
        };
        match step {
            Step::Take { expected, fence } => {
                let free = stored.map(|stored| stored.record);
                Ok(Claim::new(self, now, reading, turn, expected, fence, free).send())
            }
            Step::Wait => Err(self.held(turn, stored)),
            Step::Spent { mark } => {
                let by = stored.map(|stored| stored.record.owner);
                Err(Round::Passed(Passed::Claimed { mark, by }))
            }
            Step::Early { by } => Err(Round::Passed(Passed::Early { by })),
            Step::Refuse(fault) => Err(Round::Failed(turn, fault.into())),
            // A record that is there is judged by watching it meanwhile; one that is not needs the store's time, as a
            // tick does.
            Step::Calibrate => match calibration.and_then(Result::err) {
                Some(error)
                    if stored.is_none() || self.mode.tick().is_some() || !error.kind().is_transient() =>
                {
                    Err(Round::Failed(turn, error))
                }
                _ => Err(self.held(turn, stored)),
            },
        }
    }

    async fn settle(&self, sent: Sent) -> Claimed {
        let Shared { world, policy, .. } = &*self.slot.shared;
        // A body that could not be settled by then would be won too late.
        let until = world.now().plus(policy.validity()).minus(policy.useful);
        let effort = match self.mode {
            Mode::Wait | Mode::Tick(_) => Effort::patient(until),
            Mode::Try => Effort::few(until, TRIES),
        };
        match sent {
            Sent::Settled(claimed) => claimed,
            Sent::Pending(claim) => claim.settle(effort, |error| _ = self.trouble(error)).await,
        }
    }

    /// Somebody else has it: what those behind this one in the queue, and messages, go by.
    fn held(&self, turn: Turn, stored: Option<Stored>) -> Round {
        let holder = stored.map(|stored| stored.record.owner);
        *self.slot.sight() = Sight { holder, trouble: None };
        Round::Held(turn)
    }
}
