//! The loop that waits for ticks and runs work for them.
//!
//! The host's wall clock decides when this instance comes for a tick, and nothing else: who gets it, and whether an
//! earlier run goes on, is decided by compare-and-swap on the cron's lease, and who still holds that by the store's time.

use std::any::Any;
use std::fmt;
use std::future::{Future, pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, SystemTime};

use super::cursor::{Look, Missed};
use super::{Cursor, Observer, Outcome, Report, RunFault, Schedule, Tick};
use crate::backend::{Owner, StoreTime};
use crate::ctx::Ctx;
use crate::engine::{Attempt, Begun, Engine, Hold, Mode, Passed, Slot, Tenure};
use crate::error::LockError;
use crate::name::Subject;
use crate::race::{Race, race};
use crate::world::World;

/// Clocks are looked at so often, at least: a step of one delays no tick by more.
const LOOK: Duration = Duration::from_secs(5);

/// One call of `Cron::run`.
pub(super) struct Runner<'a> {
    pub(super) name: &'static str,
    pub(super) ctx: &'a Ctx,
    pub(super) engine: &'a Engine,
    pub(super) slot: Arc<Slot>,
    pub(super) schedule: Schedule,
    pub(super) cursor: Cursor,
    observer: Option<Observer>,
}

/// The clock that a schedule is read on.
pub(super) enum Clock {
    /// The host's own. It may be wrong, and be set.
    Wall(Arc<dyn World>),
    /// The store's, as the holder of a lease knows it.
    Store(Arc<Hold>),
}

/// A tick that has come.
pub(super) struct Due {
    pub(super) tick: SystemTime,
    pub(super) late: Duration,
}

impl Clock {
    /// `None` while it cannot be read. It never shows an instant of the store's that has not come yet.
    fn now(&self) -> Option<SystemTime> {
        match self {
            Clock::Wall(world) => Some(world.wall().into()),
            Clock::Store(hold) => hold.store_time().map(|reading| reading.earliest().into()),
        }
    }
}

impl<'a> Runner<'a> {
    pub(super) fn new(
        name: &'static str,
        ctx: &'a Ctx,
        schedule: Schedule,
        observer: Option<Observer>,
    ) -> Result<Runner<'a>, LockError> {
        let engine = ctx.engine()?;
        let slot = engine.slot(Subject::Cron(name));
        slot.reachable()?;
        let cursor = Cursor::on_wall(&schedule, engine.world().wall().into());
        Ok(Runner { name, ctx, engine, slot, schedule, cursor, observer })
    }

    /// Every instance runs every tick.
    pub(super) async fn everywhere<E, F, Fut>(&mut self, mut work: F) -> Result<(), LockError>
    where
        F: FnMut(Ctx, Tick) -> Fut,
        Fut: Future<Output = Result<(), E>>,
        E: fmt::Display,
    {
        let clock = Clock::Wall(self.engine.world().clone());
        let closing = self.engine.closing().clone();
        while let Some(due) = self.next_tick(self.ctx, &clock).await {
            self.cursor.deal(&self.schedule, due.tick);
            // Taken before the last look: a shutdown that begins in between waits for this run.
            let _busy = self.engine.busy();
            if closing.is_cancelled() {
                break;
            }
            let ctx = self.ctx.child();
            let tick = Tick { scheduled: due.tick, late: due.late, fence: None };
            let told = async {
                closing.cancelled().await;
                ctx.cancel();
                pending().await
            };
            let run = self.attend(&clock, None, tick, || work(ctx.clone(), tick));
            let (Race::First((took, result)) | Race::Second((took, result))) =
                race(pin!(run), pin!(told)).await;
            self.report(due.tick, Outcome::Ran { tick, took, result });
        }
        Ok(())
    }

    /// Each tick runs once.
    pub(super) async fn once_a_tick<E, F, Fut>(&mut self, mut work: F) -> Result<(), LockError>
    where
        F: FnMut(Ctx, Tick) -> Fut,
        Fut: Future<Output = Result<(), E>>,
        E: fmt::Display,
    {
        let clock = Clock::Wall(self.engine.world().clone());
        while let Some(due) = self.next_tick(self.ctx, &clock).await {
            let outcome = match self.claim(&clock, due.tick).await {
                Ok(Attempt::Won(tenure)) => {
                    let now = clock.now().unwrap_or(due.tick);
                    let late = now.duration_since(due.tick).unwrap_or_default();
                    self.cursor.deal(&self.schedule, due.tick);
                    self.run_once(&clock, tenure, Due { late, ..due }, &mut work).await
                }
                Ok(Attempt::Passed(passed)) => outcome_of(passed),
                Err(LockError::Lost(_) | LockError::Cancelled(_) | LockError::ShuttingDown { .. }) => break,
                Err(error @ LockError::Config(_)) => return Err(error),
                Err(error) => Outcome::Unclaimed { error },
            };
            match outcome {
                // Not dealt with: it comes again once the clock has been set right.
                Outcome::Early { .. } => self.cursor.pass(&self.schedule, due.tick),
                _ => self.cursor.deal(&self.schedule, due.tick),
            }
            self.report(due.tick, outcome);
        }
        Ok(())
    }

    async fn run_once<E, F, Fut>(&mut self, clock: &Clock, tenure: Tenure, due: Due, work: &mut F) -> Outcome
    where
        F: FnMut(Ctx, Tick) -> Fut,
        Fut: Future<Output = Result<(), E>>,
        E: fmt::Display,
    {
        let hold = tenure.hold().clone();
        let tick = Tick { scheduled: due.tick, late: due.late, fence: Some(hold.fence) };
        let ctx = self.ctx.held(&hold);
        // From here on the tick is spent, however the work ends.
        hold.begin();
        let (took, result) = {
            let run = pin!(self.attend(clock, hold.owner(), tick, || work(ctx, tick)));
            tenure.watch(run).await
        };
        let result = match (result, tenure.finish().await) {
            (Ok(()), Err(lost)) => Err(RunFault::Lost(lost)),
            (result, _) => result,
        };
        Outcome::Ran { tick, took, result }
    }

    /// Claims `tick`, for as long as its successor has not come.
    async fn claim(&self, clock: &Clock, tick: SystemTime) -> Result<Attempt, LockError> {
        let world = self.engine.world();
        let late = async {
            match self.schedule.next_after(tick) {
                Some(next) => self.reached(clock, next).await,
                None => pending().await,
            }
        };
        let attempts = async {
            loop {
                let answer = self.attempt(Mode::Tick(tick.into())).await;
                // A claim whose outcome is settled in the background: if it comes to nothing, the tick is free again.
                if !matches!(answer, Err(LockError::Unavailable { .. })) {
                    return answer;
                }
                world.sleep_until(world.now().plus(world.jittered(crate::policy::POLL))).await;
            }
        };
        match race(pin!(attempts), pin!(late)).await {
            Race::First(answer) => answer,
            Race::Second(()) => Err(self.slot.unanswered()),
        }
    }

    pub(super) async fn attempt(&self, mode: Mode) -> Result<Attempt, LockError> {
        match self.slot.begin(self.ctx.scope(), mode)? {
            Begun::Held(tenure) => Ok(Attempt::Won(tenure)),
            Begun::Busy(by) => Ok(Attempt::Passed(Passed::Held { by })),
            // On the heap, as a lock's.
            Begun::Campaign(visit, lead) => Box::pin(visit.campaign(lead)).await,
        }
    }

    /// The next tick; `None` when there is none any more, or when `ctx` or the engine ends first.
    pub(super) async fn next_tick(&mut self, ctx: &Ctx, clock: &Clock) -> Option<Due> {
        let closing = self.engine.closing().clone();
        let due = async {
            match race(pin!(closing.cancelled()), pin!(self.due(clock))).await {
                Race::First(()) => None,
                Race::Second(due) => due,
            }
        };
        ctx.until_cancelled(due).await.flatten()
    }

    async fn due(&mut self, clock: &Clock) -> Option<Due> {
        let world = self.engine.world().clone();
        loop {
            let nap = match clock.now().map(|now| (now, self.cursor.look(&self.schedule, now))) {
                None => LOOK,
                Some((_, Look::Never)) => return None,
                Some((_, Look::Wait(left))) => left.min(LOOK),
                Some((_, Look::Leapt(missed))) => {
                    self.missed(missed);
                    continue;
                }
                Some((now, Look::Due { tick, missed })) => {
                    if let Some(missed) = missed {
                        self.missed(missed);
                    }
                    return Some(Due { tick, late: now.duration_since(tick).unwrap_or_default() });
                }
            };
            world.sleep_until(world.now().plus(nap)).await;
        }
    }

    /// Ends when `clock` has reached `instant`.
    async fn reached(&self, clock: &Clock, instant: SystemTime) {
        let world = self.engine.world();
        loop {
            let left = clock.now().map_or(Ok(LOOK), |now| instant.duration_since(now)).unwrap_or_default();
            if left.is_zero() {
                return;
            }
            world.sleep_until(world.now().plus(left.min(LOOK))).await;
        }
    }

    /// Runs `work`, and skips what comes meanwhile. Tells how long it took, and how it ended.
    pub(super) async fn attend<E: fmt::Display, Fut: Future<Output = Result<(), E>>>(
        &mut self,
        clock: &Clock,
        owner: Option<Owner>,
        tick: Tick,
        work: impl FnOnce() -> Fut,
    ) -> (Duration, Result<(), RunFault>) {
        let world = self.engine.world().clone();
        let started = world.now();
        tracing::debug!(cron = self.name, tick = %StoreTime::from(tick.scheduled), "cron tick: started");
        // Called where a panic is caught.
        let work = pin!(async { work().await });
        let meanwhile = pin!(self.skip_meanwhile(clock, owner));
        let (Race::First(result) | Race::Second(result)) = race(pin!(caught(work)), meanwhile).await;
        (world.now().since(started), result)
    }

    async fn skip_meanwhile<T>(&mut self, clock: &Clock, owner: Option<Owner>) -> T {
        while let Some(Due { tick, .. }) = self.due(clock).await {
            self.deal(clock, tick);
            self.report(tick, Outcome::Running { by: owner.clone() });
        }
        pending().await
    }

    /// `tick` does not come again: not here, and under a lease that is kept on not at its next holder.
    pub(super) fn deal(&mut self, clock: &Clock, tick: SystemTime) {
        self.cursor.deal(&self.schedule, tick);
        if let Clock::Store(hold) = clock {
            hold.move_mark(tick.into());
        }
    }

    pub(super) fn missed(&self, Missed { first, last, ticks }: Missed) {
        self.report(first, Outcome::Missed { last, ticks });
    }

    pub(super) fn report(&self, scheduled: SystemTime, outcome: Outcome) {
        Report { cron: self.name, scheduled, outcome }.tell(self.observer.as_ref());
    }
}

fn outcome_of(passed: Passed) -> Outcome {
    match passed {
        Passed::Held { by } => Outcome::Running { by },
        Passed::Claimed { mark, by } => Outcome::Claimed { by, mark: mark.into() },
        Passed::Early { by } => Outcome::Early { by },
    }
}

/// `work`, with an error and a panic as faults.
async fn caught<E: fmt::Display>(
    mut work: Pin<&mut impl Future<Output = Result<(), E>>>,
) -> Result<(), RunFault> {
    let polled = poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context))) {
        Ok(polled) => polled.map(Ok),
        Err(payload) => Poll::Ready(Err(payload)),
    });
    match polled.await {
        Ok(Ok(())) => Ok(()),
        // `{:#}`: an error that knows its causes tells them too.
        Ok(Err(error)) => Err(RunFault::Failed(format!("{error:#}").into())),
        Err(payload) => Err(RunFault::Panicked(message(&*payload).into())),
    }
}

fn message(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("with no message")
}
