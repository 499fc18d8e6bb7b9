//! Holds as their users see them.
//!
//! - **I1, I4**: when work starts, no earlier work of that lock may still count on its lease. Asked of every earlier
//!   context in half of the seeds; in the others seen from the users' own looks. Promised while clock rates are
//!   bounded; excused where an operator broke the lock by force, but only until the next heartbeat must have told.
//! - **I2**: work starts with a fence that its claim has written, and above all before it. The second is excused where
//!   an operator undid the claim before its answer was there, or deleted the record while the claim was on its way; and
//!   where clock rates are off by half: the late answer of a claim that others have taken over is too old then, and its
//!   holder cannot know. Fences of grants grow all the same (`writes`).
//! - **The latch**: who was told "lost" stays so; its caller gets the error. No fault excuses it.
//! - **I5**: a hold is not lost while the store answers: a heartbeat that was answered within 2 s, with the process
//!   awake, keeps it for 22 s from its send at the least. And one that is lost was tried for.

use std::collections::BTreeSet;

use tako::{Ctx, policy};

use super::super::calendar::SECOND;
use super::super::event::{Back, Cause, Event, Look, Verb};
use super::super::plan::Fault;
use super::super::store::Store;
use super::Checks;
use super::state::{Call, Owner, Record};

/// What an answered heartbeat is good for at the least, in true time: with a clock that is 5 % fast, an estimate of the
/// store's time that is off by the most that is allowed, and a margin.
const SURE: u64 = 22 * SECOND;

/// How long a claim is good for, and what must be left of that, by the process's clock.
pub(super) const VALIDITY: u64 = nanos(policy::Policy::V0.validity());
pub(super) const USEFUL: u64 = nanos(policy::Policy::V0.useful);
/// How much less than a whole lease the store's date of a heartbeat leaves at the most, where none is hit by a fault.
const SLACK: u64 = nanos(policy::PACE);

#[allow(clippy::cast_possible_truncation, reason = "seconds, not centuries")]
const fn nanos(span: std::time::Duration) -> u64 {
    span.as_nanos() as u64
}

impl Checks {
    pub(super) fn holds(&mut self, now: u64, event: &Event) {
        match *event {
            Event::Called { process, lock, call, waits } => {
                let state = Call {
                    process,
                    lock,
                    waits,
                    started: None,
                    owner: 0,
                    ended: None,
                    lost: false,
                    told: false,
                    stopped: false,
                };
                self.calls.insert(call, state);
            }
            Event::Struck { fault, process, .. } => {
                let Some(state) = self.processes.get_mut(&process) else { return };
                match fault {
                    Fault::Pause | Fault::Suspend => (state.halts, state.last_halt) = (state.halts + 1, now),
                    Fault::Crash => state.has_crashed = true,
                    Fault::Shutdown => state.closing = Some(now),
                    _ => {}
                }
                state.clean_since = now;
            }
            Event::Well { process } => {
                if let Some(state) = self.processes.get_mut(&process) {
                    // A process that stood still is told of a shutdown only now.
                    let halted = state.last_halt;
                    state.closing =
                        state.closing.map(|closing| if closing >= halted { now } else { closing });
                    (state.halts, state.last_halt, state.clean_since) = (state.halts - 1, now, now);
                }
            }
            Event::Heard { process, verb, owner, sent, .. } => self.heard(now, process, verb, owner, sent),
            Event::Started { process, lock, call, fence, local } => {
                self.start(now, process, lock, call, (fence, local));
            }
            Event::Looked { call, look, local } => self.looked(now, call, look, local),
            Event::Acted { call, looked: true, .. } => self.acts(now, call),
            Event::Told { call, cause } => self.told(now, call, cause),
            Event::Ended { call } => {
                if let Some(state) = self.calls.get_mut(&call) {
                    state.ended = Some(now);
                    self.owners[state.owner as usize].over = Some(now);
                    self.tally.held_time += now - state.started.unwrap_or(now);
                }
            }
            Event::Back { call, how, .. } => self.back(now, call, how),
            Event::Closed { process, is_clean: true, local } => {
                let closing = self.processes.get(&process).and_then(|process| process.closing);
                // What was left to lapse before the shutdown began is the log's affair.
                let is_left = |record: &Record| {
                    let owner = &self.owners[record.owner as usize];
                    let was_over =
                        owner.over.is_some_and(|over| closing.is_none_or(|closing| over <= closing));
                    // Nor what was lost, whether or not its user has looked.
                    // The store's date of it may have left it somewhat less.
                    let is_over = owner.is_lost || local + SLACK >= owner.heard + VALIDITY;
                    let is_ours = owner.process == process && owner.call.is_some() && !is_over;
                    record.expires != 0 && is_ours && !was_over
                };
                if self.records.iter().any(is_left) {
                    self.violation(now, format!("I7: process {process} said that it had given all back"));
                }
            }
            _ => {}
        }
    }

    fn start(&mut self, now: u64, process: u32, lock: u8, call: u32, (fence, local): (u64, u64)) {
        self.tally.holds += 1;
        let record = &mut self.records[usize::from(lock)];
        let owner = record.fences.get(&fence).copied();
        let mut broken = None;
        // A claim that an operator undid before its answer arrived has been followed by others: its fence tells.
        let is_excused = |owner: &Owner| owner.forced.is_some() || owner.is_belated;
        let is_undone = owner.is_some_and(|owner| is_excused(&self.owners[owner as usize]));
        if fence > record.granted {
            (record.granted, record.last) = (fence, call);
        } else if !is_undone && self.plan.is_bounded() {
            broken = Some("I2: work starts with a fence that is not the highest");
        }
        match owner.map(|owner| (owner, &mut self.owners[owner as usize])) {
            Some((number, owner)) if owner.process == process && owner.call.is_none() => {
                owner.call = Some(call);
                owner.heard = owner.heard.max(owner.bodies.first().map_or(0, |body| body.local));
                // Less than is useful is left of what its claim can be good for.
                let claimed = owner.bodies.first().map_or(0, |body| body.local);
                if local + USEFUL > claimed + VALIDITY {
                    broken = Some("I1: work starts although its lease is as good as over");
                }
                // What is left is "useful" at the least.
                owner.sure_until = owner.sure_until.max(now + 4 * SECOND);
                if let Some(state) = self.calls.get_mut(&call) {
                    (state.owner, state.started) = (number, Some(now));
                }
            }
            _ => broken = Some("I3: work starts without a claim of its own in the store"),
        }
        if self
            .processes
            .get(&process)
            .is_some_and(|process| process.closing.is_some_and(|since| since < now))
        {
            broken = Some("shutdown: work starts in an engine that is closing");
        }
        if let Some(broken) = broken {
            self.violation(
                now,
                format!("{broken}: call {call} of process {process}, lock {lock}, fence {fence}"),
            );
        }
    }

    /// Keeps the context of work that has started, and asks those of earlier work how they stand.
    pub(crate) fn keep(&mut self, now: u64, lock: u8, call: u32, ctx: &Ctx) {
        let earlier = std::mem::take(&mut self.contexts[usize::from(lock)]);
        // Work that starts under a claim which an operator undid meanwhile is the one that must be told.
        if self.plan.is_probed && self.plan.is_bounded() && !self.is_forced(call) {
            for (other, ctx) in &earlier {
                if ctx.fence().is_some() && !self.is_forced(*other) {
                    self.violation(
                        now,
                        format!("I1: call {call} starts while call {other} counts on lock {lock}"),
                    );
                }
            }
        }
        self.contexts[usize::from(lock)] = earlier;
        self.contexts[usize::from(lock)].push((call, ctx.clone()));
        if self.contexts[usize::from(lock)].len() > 8 {
            self.contexts[usize::from(lock)].remove(0);
        }
    }

    pub(crate) fn let_go(&mut self, lock: u8, call: u32) {
        self.contexts[usize::from(lock)].retain(|(other, _)| *other != call);
    }

    fn is_forced(&self, call: u32) -> bool {
        let owner = self.calls.get(&call).and_then(|call| self.owners.get(call.owner as usize));
        owner.is_some_and(|owner| owner.forced.is_some())
    }

    fn looked(&mut self, now: u64, call: u32, look: Look, local: u64) {
        let Some(state) = self.calls.get_mut(&call) else { return };
        let broken = match look {
            Look::Held if state.lost || state.stopped => Some("the latch: held again"),
            Look::Stop if state.lost => Some("the latch: not lost any more"),
            // Reckoned from the first send of the latest body that was carried out, whether or not its holder knows.
            Look::Held if local >= self.owners[state.owner as usize].confirmed + VALIDITY => {
                Some("I1: held past the deadline")
            }
            _ => None,
        };
        if look == Look::Lost && !std::mem::replace(&mut state.lost, true) {
            self.tally.losses += 1;
            self.owners[state.owner as usize].is_lost = true;
        }
        state.stopped |= look == Look::Stop;
        if let Some(broken) = broken {
            self.violation(now, format!("{broken}, after call {call} was told otherwise"));
        }
    }

    /// Somebody acts in the belief that it holds the lock.
    fn acts(&mut self, now: u64, call: u32) {
        let Some(state) = self.calls.get(&call) else { return };
        let (lock, owner) = (state.lock, &self.owners[state.owner as usize]);
        let last = self.records[usize::from(lock)].last;
        let broken = if let Some(forced) = owner.forced {
            // The next heartbeat tells, or the deadline.
            (now > forced + 32 * SECOND).then_some("I4: acts on a lock that was broken by force")
        } else {
            let later = self.calls.get(&last).filter(|_| last != call);
            let is_followed = later.is_some_and(|later| later.started >= state.started);
            is_followed.then_some("I1: acts although other work has started")
        };
        if let Some(broken) = broken.filter(|_| self.plan.is_bounded()) {
            self.violation(now, format!("{broken}: call {call}, lock {lock}, last started: {last}"));
        }
    }

    fn heard(&mut self, now: u64, process: u32, verb: Verb, owner: u32, sent: u64) {
        let is_awake = self.processes.get(&process).is_some_and(|process| process.halts == 0);
        let Some(state) = self.owners.get_mut(owner as usize) else { return };
        let body = state.bodies.iter().rev().find(|body| body.sent <= sent).copied();
        let is_whole = body.is_some_and(|body| {
            // What the store finds left of it counts as well.
            body.expires >= Store::time(now).as_millis() + 28_500 && body.sent == sent
        });
        state.is_whole = is_whole;
        state.heard = state.heard.max(body.map_or(0, |body| body.local));
        if verb == Verb::Beat {
            state.tries = 0;
        }
        if !is_awake || !self.plan.is_dated || !is_whole {
            return;
        }
        match verb {
            Verb::Claim => state.sure_until = sent + SURE,
            Verb::Beat if now < state.sure_until => state.sure_until = state.sure_until.max(sent + SURE),
            _ => {}
        }
    }

    fn told(&mut self, now: u64, call: u32, cause: Cause) {
        let Some(state) = self.calls.get_mut(&call) else { return };
        if std::mem::replace(&mut state.told, true) {
            return;
        }
        let (number, lock, process) = (state.owner, state.lock, state.process);
        let owner: &Owner = &self.owners[number as usize];
        let record = &self.records[usize::from(lock)];
        let halted = self.processes.get(&process).map_or(0, |process| process.last_halt);
        let was_awake = now > halted + 60 * SECOND || halted == 0;
        // A shutdown whose grace is over keeps nothing up any more; a clock that is off by half proves nothing.
        let is_kept = self.plan.is_bounded()
            && self.processes.get(&process).is_some_and(|process| process.closing.is_none());
        // A heartbeat that asks for the store's time first takes twice as long.
        let asked = self.processes.get(&process).map_or(0, |process| process.asked);
        let least = if asked + 20 * SECOND > now { 2 } else { 3 };
        // Without the store's date a heartbeat may have to ask for its time first.
        let is_tellable = self.plan.is_dated;
        let broken = match cause {
            Cause::Taken(fence) if !owner.is_overwritten || !record.fences.contains_key(&fence) => {
                Some("I5: taken, but nobody took it")
            }
            Cause::Vanished if owner.forced.is_none() && !owner.is_overwritten => {
                Some("I5: vanished, but it stands")
            }
            Cause::Expired if now < owner.sure_until && was_awake && is_kept => {
                Some("I5: expired, but it was renewed")
            }
            Cause::Expired
                if was_awake && is_kept && is_tellable && owner.is_whole && owner.tries < least =>
            {
                Some("I5: expired, and hardly tried")
            }
            _ => None,
        };
        if let Some(broken) = broken {
            self.violation(
                now,
                format!("{broken}: call {call} of process {process}, lock {lock}, owner {number}, {cause:?}"),
            );
        }
    }

    fn back(&mut self, now: u64, call: u32, how: Back) {
        let Some(state) = self.calls.remove(&call) else { return };
        let has_started = state.started.is_some();
        if how == Back::Lost && !state.lost {
            self.tally.losses += 1;
            self.owners[state.owner as usize].is_lost = true;
        }
        let broken = match how {
            Back::Done if state.lost => Some("I4: a loss that the caller is not told"),
            Back::Done if !has_started => Some("done, and never started"),
            Back::Lost if !has_started => Some("lost, and never started"),
            Back::Busy | Back::Unavailable if has_started || state.waits => {
                Some("an answer that does not fit")
            }
            Back::Closed | Back::Unexpected if has_started => Some("an answer that does not fit"),
            Back::Unexpected => Some("an error that nothing gave cause for"),
            _ => None,
        };
        if has_started && state.ended.is_none() {
            self.violation(now, format!("call {call} has its answer while its work goes on"));
        }
        if let Some(broken) = broken {
            self.violation(
                now,
                format!("{broken}: call {call} of process {}, lock {}: {how:?}", state.process, state.lock),
            );
        }
        // A dropped call's release goes on; it must not be taken for a write after the answer.
        if how == Back::Dropped && has_started {
            self.calls.insert(call, Call { ended: Some(now), ..state });
        }
    }

    /// Calls that wait, for the bounds.
    pub(super) fn waiters(&self, process: u32, lock: u8) -> Option<&(BTreeSet<u32>, u64)> {
        self.processes.get(&process)?.waiting.get(&lock)
    }
}

const _: () = assert!(policy::HEARTBEAT.as_secs() == 10, "the figures above follow from the policy");
