//! Callers, and the work they do under a lock.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

use tako::prelude::{Lock, lock};
use tako::{CancelCause, Ctx, Engine, LockError, LossCause};

use super::calendar::{MILLISECOND, SECOND};
use super::event::{Back, Cause, Event, Look};
use super::process::Process;

static FIRST: Lock = lock!("alpha");
static SECOND_LOCK: Lock = lock!("beta");
static THIRD: Lock = lock!("gamma");

/// The locks that there are, in the order of their numbers.
pub(crate) static LOCKS: [&Lock; 3] = [&FIRST, &SECOND_LOCK, &THIRD];

/// How a user minds its context.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Manners {
    /// Stops when told, and looks before each act.
    Polite,
    /// Looks before each act, and goes on without acting.
    Stubborn,
    /// Acts without a look.
    Deaf,
}

/// One caller of one lock, in one process, until it is told to stop.
pub(crate) struct Caller {
    pub(crate) process: Arc<Process>,
    pub(crate) engine: Engine,
    pub(crate) place: u8,
    /// No more calls from here on: the process closes, or the simulation ends.
    pub(crate) is_closing: Arc<AtomicBool>,
}

impl Caller {
    pub(crate) async fn run(self) {
        let plan = &self.process.simulation.plan;
        loop {
            let rest = self.process.draw(|chance| chance.spread(10 * MILLISECOND, plan.longest_rest));
            let mut left = rest;
            // In slices, so that the end of a simulation need not wait for it.
            while left > 0 && !self.is_closing() {
                let slice = left.min(20 * SECOND);
                self.process.sleep(slice).await;
                left -= slice;
            }
            if self.is_closing() {
                return;
            }
            self.call().await;
        }
    }

    fn is_closing(&self) -> bool {
        self.is_closing.load(Ordering::Relaxed) || self.process.simulation.is_quiet()
    }

    async fn call(&self) {
        let Process { simulation, number, .. } = &*self.process;
        let call = super::calendar::lock(&simulation.history).call();
        let droppers = simulation.plan.droppers;
        let (waits, limit, dropped) = self.process.draw(|chance| {
            let waits = !chance.once_in(3);
            let limit = chance.once_in(6).then(|| chance.spread(50 * MILLISECOND, 60 * SECOND));
            let dropped = (droppers > 0 && chance.once_in(droppers)).then(|| {
                // By time or by the number of polls: any await is where it may end.
                let after = chance.spread(MILLISECOND, 60 * SECOND);
                (after, if chance.once_in(2) { chance.between(1, 40) } else { u64::MAX })
            });
            (waits, limit, dropped)
        });
        let (process, place) = (*number, self.place);
        simulation.note(Event::Called { process, lock: place, call, waits });
        let ctx = self.engine.ctx();
        let ctx =
            limit.map_or(ctx.clone(), |limit| ctx.with_timeout(std::time::Duration::from_micros(limit)));
        let lock = LOCKS[usize::from(place)];
        let work = move |ctx: Ctx| self.work(ctx, call);
        let answer = {
            let mut running: Pin<Box<dyn Future<Output = Result<Option<()>, LockError>> + Send + '_>> =
                if waits {
                    Box::pin(async { lock.run(&ctx, work).await.map(Some) })
                } else {
                    Box::pin(lock.try_run(&ctx, work))
                };
            match dropped {
                None => Some(running.await),
                Some((after, polls)) => {
                    let mut timer = pin!(self.process.sleep(after));
                    let mut left = polls;
                    poll_fn(|context| {
                        if left == 0 || timer.as_mut().poll(context).is_ready() {
                            return Poll::Ready(None);
                        }
                        left -= 1;
                        running.as_mut().poll(context).map(Some)
                    })
                    .await
                }
            }
        };
        let how = match answer {
            None => Back::Dropped,
            Some(Ok(Some(()))) => Back::Done,
            Some(Ok(None)) => Back::Busy,
            Some(Err(LockError::Lost(lost))) => {
                simulation.note(Event::Told { call, cause: cause(lost.cause()) });
                Back::Lost
            }
            Some(Err(LockError::Cancelled(_))) => Back::Cancelled,
            Some(Err(LockError::ShuttingDown { .. })) => Back::Closed,
            Some(Err(LockError::Unavailable { .. })) => Back::Unavailable,
            Some(Err(_)) => Back::Unexpected,
        };
        if how == Back::Dropped {
            simulation.count(super::plan::Fault::CallerDrop);
        }
        simulation.note(Event::Back { process, lock: place, call, how });
    }

    /// What a user does under the lock.
    async fn work(&self, ctx: Ctx, call: u32) -> Result<(), LockError> {
        let simulation = &self.process.simulation;
        let longest = simulation.plan.longest_hold;
        let is_bounded = simulation.plan.is_bounded();
        let (length, manners, stays) = self.process.draw(|chance| {
            let length = if chance.once_in(4) { 0 } else { chance.spread(MILLISECOND, longest) };
            let manners = match chance.below(8) {
                0 if !is_bounded => Manners::Deaf,
                0 | 1 => Manners::Stubborn,
                _ => Manners::Polite,
            };
            (length, manners, chance.spread(SECOND, 60 * SECOND))
        });
        simulation.started(&self.process, self.place, call, &ctx);
        let _ended = Ended { caller: self, call };
        let fence = ctx.fence().map_or(0, tako::Fence::get);
        let (from, mut until) = (simulation.calendar.now(), None);
        loop {
            let step = self.process.draw(|chance| chance.spread(20 * MILLISECOND, 4 * SECOND));
            let since = simulation.calendar.now() - from;
            if length == 0 || since >= length || simulation.is_quiet() {
                break;
            }
            let mut sleep = pin!(self.process.sleep(step.min(length - since).max(1)));
            if manners == Manners::Polite && until.is_none() {
                // Told first, if both are so: the order is the promise.
                let mut cancelled = pin!(ctx.cancelled());
                let is_told = poll_fn(|context| {
                    if cancelled.as_mut().poll(context).is_ready() {
                        return Poll::Ready(true);
                    }
                    sleep.as_mut().poll(context).map(|()| false)
                })
                .await;
                let ended = ctx.check().err();
                // A machine that was suspended notices a time limit late. A loss it must notice at once.
                let is_lost = matches!(ended, Some(LockError::Lost(_)));
                if is_told && ended.is_none() || !is_told && is_lost {
                    simulation.violation(format!(
                        "I4: call {call} was {}told when its await returned, and check() said {ended:?}",
                        if is_told { "" } else { "not " }
                    ));
                }
                if is_told {
                    self.look(&ctx, call);
                    if self.process.draw(|chance| chance.once_in(4)) {
                        return ended.map_or(Ok(()), Err);
                    }
                    until = Some(simulation.calendar.now() + stays.min(2 * SECOND));
                }
            } else {
                sleep.await;
            }
            if manners == Manners::Deaf {
                simulation.note(Event::Acted { call, fence, looked: false });
            } else if self.look(&ctx, call) {
                simulation.note(Event::Acted { call, fence, looked: true });
            } else if until.is_none() {
                until = Some(simulation.calendar.now() + stays);
            }
            if until.is_some_and(|until| simulation.calendar.now() >= until) {
                break;
            }
        }
        Ok(())
    }

    /// Looks at the context; tells whether it may act.
    fn look(&self, ctx: &Ctx, call: u32) -> bool {
        let simulation = &self.process.simulation;
        let look = match ctx.check() {
            Ok(()) => Look::Held,
            Err(LockError::Lost(lost)) => {
                simulation.note(Event::Told { call, cause: cause(lost.cause()) });
                Look::Lost
            }
            Err(_) => Look::Stop,
        };
        if (look == Look::Lost) != (ctx.cause() == Some(CancelCause::Lost)) {
            simulation.violation(format!("I4: check() and cause() of call {call} disagree: {look:?}"));
        }
        let local = self.process.now().as_nanos();
        simulation.note(Event::Looked { call, look, local });
        look == Look::Held
    }
}

fn cause(cause: &LossCause) -> Cause {
    match cause {
        LossCause::Taken { fence, .. } => Cause::Taken(fence.get()),
        LossCause::Vanished => Cause::Vanished,
        _ => Cause::Expired,
    }
}

/// Notes the end of a user's work, returned or dropped. A crash runs no destructors.
struct Ended<'a> {
    caller: &'a Caller,
    call: u32,
}

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        let process = &self.caller.process;
        if !process.has_crashed() {
            process.simulation.ended(self.caller.place, self.call);
        }
    }
}
