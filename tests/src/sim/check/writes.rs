//! What is sent to the store, and what it carries out.
//!
//! - **I2**: fences grow with every claim that is carried out. Nothing excuses it, but that a record was deleted: while
//!   the claim was on its way that makes a new one, or while clock rates are off by half, since the fence of a new
//!   record comes from a clock.
//! - **I3**: an extension or a release is carried out only on what the same owner wrote, and an owner claims once. No
//!   fault excuses it.
//! - **I1, the campaigner's half**: a record is taken over only GUARD after its expiry in store time, or when it
//!   has stood still for a whole TTL + GUARD on a clock that runs 5 % fast. Promised while clock rates are bounded.
//! - **I9**: nothing is sent in the name of a hold that was lost, or whose caller has its answer; no heartbeat after
//!   its work has ended. No fault excuses it.
//! - **I7**: a lease is left to lapse only with cause: its process crashed, was closing, or was hit by a fault; or an
//!   operator had a hand in it; or it was as good as over when it was carried out, so that no work was started.
//! - **I8**: two tries of one write are at least 0.2 s apart.
//! - A heartbeat leaves before its holder's deadline, as reckoned from the first send of what was carried out.
//!   Excused while a process stood still: it may find out only after.

use tako::policy;

use super::super::calendar::SECOND;
use super::super::event::{Event, Verb};
use super::super::store::Store;
use super::Checks;
use super::holds::{USEFUL, VALIDITY};
use super::state::{Body, Owner, Record};

/// How long a record must have stood still at the least, in true time.
const STOOD_STILL: u64 = (policy::TTL.as_secs() + policy::GUARD.as_secs()) * SECOND * 100 / 106;

impl Checks {
    pub(super) fn writes(&mut self, now: u64, event: &Event) {
        match *event {
            Event::Sent { process, lock, verb, owner, expires, local, .. } if owner != 0 => {
                while self.owners.len() <= owner as usize {
                    self.owners.push(Owner::default());
                }
                self.sent(now, process, lock, verb, owner, expires, local);
            }
            Event::Landed { process, lock, verb, owner, expires, fence, is_applied: true, .. } => {
                self.landed(now, process, lock, verb, owner, expires, fence);
            }
            Event::Forced { lock, owner, expires, fence, .. } => {
                let record = &mut self.records[usize::from(lock)];
                let broken = std::mem::replace(&mut record.owner, owner);
                (record.expires, record.since) = (expires, now);
                record.changes += 1;
                if owner == 0 {
                    record.deleted = Some(now);
                } else {
                    record.fence = fence;
                    record.fences.entry(fence).or_insert(owner);
                    record.highest = record.highest.max(fence);
                }
                while self.owners.len() <= owner as usize {
                    self.owners.push(Owner::default());
                }
                let broken = &mut self.owners[broken as usize];
                broken.forced = Some(now);
                broken.is_overwritten = true;
            }
            _ => {}
        }
    }

    #[allow(clippy::too_many_arguments, reason = "an event spelt out")]
    fn sent(&mut self, now: u64, process: u32, lock: u8, verb: Verb, number: u32, expires: u64, local: u64) {
        let halted = self.processes.get(&process).map_or(0, |process| process.last_halt);
        let owner = &mut self.owners[number as usize];
        let call = owner.call.and_then(|call| self.calls.get(&call));
        let mut broken = None;
        let is_new = !owner.bodies.iter().any(|body| body.expires == expires);
        let apart = local.saturating_sub(std::mem::replace(&mut owner.sent, local));
        if verb != Verb::Release && owner.claimed.is_some() && apart < 200_000_000 && halted + SECOND < now {
            // A caller that goes away hands its claim over, and that is sent again at once.
            if std::mem::replace(&mut owner.is_hurried, true) {
                broken = Some("I8: tried again without a pause");
            }
        }
        if is_new {
            if owner.bodies.len() >= 16 {
                owner.bodies.remove(0);
            }
            owner.bodies.push(Body { expires, local, sent: now });
        }
        match verb {
            Verb::Claim => {
                (owner.process, owner.lock) = (process, lock);
                owner.claimed.get_or_insert(expires);
                if owner.call.is_some() {
                    broken = Some("I9: a claim is sent again although its work has started");
                }
            }
            Verb::Beat => {
                owner.tries += 1;
                match call {
                    Some(call) if call.lost => broken = Some("I9: a heartbeat after the loss"),
                    // In the very instant of the end a heartbeat may be at the door already.
                    Some(call) if call.ended.is_some_and(|ended| ended < now) => {
                        broken = Some("I9: a heartbeat after the work's end");
                    }
                    None if owner.call.is_some() => {
                        broken = Some("I9: a heartbeat after the caller's answer");
                    }
                    _ => {}
                }
                if is_new && local >= owner.confirmed + VALIDITY && halted + 3 * SECOND < now {
                    broken = Some("I1: a heartbeat past its holder's deadline");
                }
            }
            Verb::Release => match call {
                Some(call) if call.lost => broken = Some("I9: a release after the loss"),
                // A process that stood still between two tries may send one more than its release has time for.
                None if owner.call.is_some() && halted + 3 * SECOND < now => {
                    broken = Some("I9: a release after the caller's answer");
                }
                _ => {}
            },
            Verb::Load | Verb::Clock => {}
        }
        if let Some(broken) = broken {
            self.violation(now, format!("{broken}: owner {number} of process {process}, lock {lock}"));
        }
    }

    #[allow(clippy::too_many_arguments, reason = "an event spelt out")]
    fn landed(
        &mut self,
        now: u64,
        process: u32,
        lock: u8,
        verb: Verb,
        number: u32,
        expires: u64,
        fence: u64,
    ) {
        let record = &mut self.records[usize::from(lock)];
        let Record { owner: before, expires: before_expires, fence: before_fence, since, .. } = *record;
        let mut broken = None;
        if verb == Verb::Claim {
            let is_free = before == 0 || before_expires == 0;
            let takeable = before_expires + policy::GUARD.as_secs() * 1_000;
            let is_dead = Store::time(now).as_millis() >= takeable || now - since >= STOOD_STILL;
            let claimer = &self.owners[number as usize];
            // An operator undid it, and it was sent again before its outcome was known.
            let is_again = claimer.has_landed && claimer.forced.is_some();
            let is_highest = fence > record.highest || (is_again && fence == record.highest);
            let first_sent = claimer.bodies.first().map_or(now, |body| body.sent);
            let is_belated = before == 0 && record.deleted.is_some_and(|deleted| first_sent < deleted);
            if claimer.has_landed && !is_again {
                broken = Some("I3: a claim was carried out twice");
            } else if !is_highest && !is_belated && (self.plan.is_bounded() || record.deleted.is_none()) {
                broken = Some("I2: a claim with a fence that is not the highest");
            } else if !is_free && !is_dead && self.plan.is_bounded() {
                broken = Some("I1: a record was taken over before it had run out");
            }
            let left = &self.owners[before as usize];
            let sent = left
                .bodies
                .iter()
                .find(|body| body.expires == before_expires)
                .map_or(since, |body| body.sent);
            let has_cause = self.processes.get(&left.process).is_none_or(|process| {
                // A shutdown, a crash or a fault; of what was sent just before as well.
                process.has_crashed
                    || process.closing.is_some()
                    || process.halts > 0
                    || process.clean_since + SECOND >= sent
            });
            // Dated by a clock or an estimate that was far off, so that it was as good as over when it was carried out.
            let was_stillborn =
                left.call.is_none() && before_expires < Store::time(since).as_millis() + USEFUL / 1_000_000;
            if !is_free
                && !has_cause
                && !was_stillborn
                && left.forced.is_none()
                && self.plan.is_bounded()
                && !self.plan.is_limited
            {
                broken = Some("I7: a lease was left to lapse without a cause");
            }
            record.highest = record.highest.max(fence);
            record.fences.insert(fence, number);
            self.owners[number as usize].is_belated = is_belated && !is_highest;
            if before != 0 && before_expires != 0 {
                self.owners[before as usize].is_overwritten = true;
            }
        } else if before != number {
            broken = Some("I3: a write on a record that its hold did not write");
        } else if before_expires == 0 {
            broken = Some("I9: a write on a record that was given back");
        } else if fence != before_fence {
            broken = Some("I2: a write that changes its hold's fence");
        }
        (record.owner, record.expires, record.fence, record.since) = (number, expires, fence, now);
        if verb != Verb::Beat {
            record.changes += 1;
        }
        let owner = &mut self.owners[number as usize];
        owner.has_landed = true;
        if let Some(body) = owner.bodies.iter().find(|body| body.expires == expires) {
            owner.confirmed = owner.confirmed.max(body.local);
        }
        if let Some(broken) = broken {
            self.violation(
                now,
                format!("{broken}: {verb:?} by owner {number} of process {process}, lock {lock}, over owner {before}"),
            );
        }
    }
}
