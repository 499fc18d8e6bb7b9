//! One instance runs the whole schedule, for as long as it holds the cron's lease.
//!
//! Inside, the schedule is read on the store's clock: a tick begins once the store's time has surely reached it. So
//! whatever a holder began lies before the end of its hold, and its successor begins with the first tick that lies after
//! the successor's own grant: no tick runs twice, with no write for it. The mark travels in the heartbeats and in the
//! release, and tells the successor what was missed in between.

use std::fmt;
use std::future::Future;
use std::ops::ControlFlow;
use std::pin::pin;
use std::sync::Arc;
use std::time::SystemTime;

use super::cursor::Missed;
use super::runner::{Clock, Runner};
use super::{Cursor, Outcome, RunFault, Tick};
use crate::backend::StoreTime;
use crate::ctx::Ctx;
use crate::engine::{Attempt, Hold, Mode};
use crate::error::LockError;
use crate::policy;
use crate::race::{Race, race};

impl Runner<'_> {
    pub(super) async fn on_one_instance<E, F, Fut>(&mut self, mut work: F) -> Result<(), LockError>
    where
        F: FnMut(Ctx, Tick) -> Fut,
        Fut: Future<Output = Result<(), E>>,
        E: fmt::Display,
    {
        loop {
            let tenure = match self.attempt(Mode::Wait).await {
                Ok(Attempt::Won(tenure)) => tenure,
                Ok(Attempt::Passed(_)) => continue,
                Err(LockError::Lost(_) | LockError::Cancelled(_) | LockError::ShuttingDown { .. }) => {
                    return Ok(());
                }
                Err(error @ (LockError::Config(_) | LockError::Reentrant { .. })) => return Err(error),
                Err(error) => {
                    tracing::error!(cron = self.name, %error, "no instance can run this cron until that is mended");
                    if self.pause().await.is_break() {
                        return Ok(());
                    }
                    continue;
                }
            };
            let hold = tenure.hold().clone();
            let served = {
                let served = pin!(self.serve(&hold, &mut work));
                tenure.watch(served).await
            };
            // A loss has been logged; another instance has the lease, or will.
            let _ = tenure.finish().await;
            if served.is_break() || self.ctx.is_cancelled() || self.engine.closing().is_cancelled() {
                return Ok(());
            }
        }
    }

    /// Runs the schedule until the hold's context ends; `Break`: there is no tick any more.
    async fn serve<E, F, Fut>(&mut self, hold: &Arc<Hold>, work: &mut F) -> ControlFlow<()>
    where
        F: FnMut(Ctx, Tick) -> Fut,
        Fut: Future<Output = Result<(), E>>,
        E: fmt::Display,
    {
        let ctx = self.ctx.held(hold);
        let clock = Clock::Store(hold.clone());
        // A hold is dated, so the store's time is known.
        let Some(granted) = hold.store_time().map(|reading| reading.latest()) else {
            return self.pause().await;
        };
        let (granted, bound) = (SystemTime::from(granted), SystemTime::from(granted.plus(policy::EARLY)));
        let mark = hold.mark().map(SystemTime::from);
        let credible = mark.filter(|mark| *mark <= bound);
        if let Some(mark) = mark.filter(|_| credible.is_none()) {
            let mark = StoreTime::from(mark);
            tracing::warn!(cron = self.name, %mark, "the mark lies in the future, where no instance can have put it: ignored");
        }
        self.cursor = Cursor::onwards(&self.schedule, granted, credible);
        if let Some(missed) = mark.and_then(|mark| Missed::between(&self.schedule, mark, granted)) {
            self.missed(missed);
        }
        loop {
            let Some(due) = self.next_tick(&ctx, &clock).await else {
                return if ctx.is_cancelled() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
            };
            // The clock is looked at once more: a holder that was stopped has lost, and begins nothing.
            if ctx.is_cancelled() {
                return ControlFlow::Continue(());
            }
            self.deal(&clock, due.tick);
            let tick = Tick { scheduled: due.tick, late: due.late, fence: Some(hold.fence) };
            let (took, result) = self.attend(&clock, hold.owner(), tick, || work(ctx.clone(), tick)).await;
            let result = match (result, ctx.check()) {
                (Ok(()), Err(LockError::Lost(lost))) => Err(RunFault::Lost(lost)),
                (result, _) => result,
            };
            self.report(due.tick, Outcome::Ran { tick, took, result });
        }
    }

    /// Waits before the next campaign; `Break`: the context or the engine has ended.
    async fn pause(&self) -> ControlFlow<()> {
        let world = self.engine.world();
        let pause = world.sleep_until(world.now().plus(world.jittered(policy::TTL)));
        let closing = self.engine.closing();
        let ended = async { race(pin!(closing.cancelled()), pin!(pause)).await };
        match self.ctx.until_cancelled(ended).await {
            Some(Race::Second(())) => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        }
    }
}
