//! I6, in figures: how soon a lock that became free is won.
//!
//! - After a clean release: within 1.25 × POLL + 2 round trips.
//! - After a crash: within TTL + GUARD + 1.25 × POLL + 2 round trips; twice that while a fifth of all requests fails.
//!
//! Promised while the store is healthy, and to somebody who has been waiting all the while in a process that no fault
//! has hit. POLL runs on the campaigner's clock, which may be 5 % slow, and so may the estimate of the store's time.

use tako::policy;

use super::super::calendar::{MILLISECOND, SECOND};
use super::super::event::{Event, Verb};
use super::super::plan::{Class, Fault};
use super::Checks;
use super::state::Pending;

const POLL: u64 = policy::POLL.as_secs() * SECOND * 5 / 4;
const TAKEOVER: u64 = (policy::TTL.as_secs() + policy::GUARD.as_secs()) * SECOND;

impl Checks {
    pub(super) fn bounds(&mut self, now: u64, event: &Event) {
        match *event {
            Event::Called { process, lock, call, waits: true } => {
                if let Some(state) = self.processes.get_mut(&process) {
                    let (waiting, since) = state.waiting.entry(lock).or_default();
                    if waiting.is_empty() {
                        *since = now;
                    }
                    waiting.insert(call);
                }
            }
            Event::Back { process, lock, call, .. } => self.no_longer_waits(now, process, lock, call, true),
            Event::Landed { process, lock, verb, is_applied: true, .. } => {
                let has_crashed = self.processes.get(&process).is_some_and(|process| process.has_crashed);
                self.records[usize::from(lock)].pending = match verb {
                    Verb::Release => Some((Pending::Released, now)),
                    // From beyond the grave.
                    _ if has_crashed => Some((Pending::Crashed, now)),
                    Verb::Claim => self.records[usize::from(lock)].pending,
                    _ => None,
                };
            }
            Event::Struck { fault: Fault::Crash, process, .. } => {
                for record in &mut self.records {
                    let is_left = record.owner != 0
                        && record.expires != 0
                        && self.owners[record.owner as usize].process == process;
                    if is_left {
                        record.pending = Some((Pending::Crashed, now));
                    }
                }
            }
            Event::Forced { lock, .. } => self.records[usize::from(lock)].pending = None,
            Event::Sent { process, fault: Some(_), .. } => {
                if let Some(state) = self.processes.get_mut(&process) {
                    state.clean_since = now;
                }
            }
            Event::Started { process, lock, call, .. } => {
                if let Some((what, since)) = self.records[usize::from(lock)].pending.take() {
                    self.won(now, lock, what, since);
                }
                self.no_longer_waits(now, process, lock, call, false);
            }
            _ => {}
        }
    }

    fn no_longer_waits(&mut self, now: u64, process: u32, lock: u8, call: u32, has_left: bool) {
        let Some(state) = self.processes.get_mut(&process) else { return };
        let (waiting, since) = state.waiting.entry(lock).or_default();
        // Whoever is next in the line looks anew.
        if waiting.remove(&call) && has_left {
            *since = now;
        }
    }

    fn won(&mut self, now: u64, lock: u8, what: Pending, since: u64) {
        let is_flaky = self.plan.class == Class::Flaky20 && what == Pending::Crashed;
        if self.plan.class != Class::Healthy && !is_flaky {
            return;
        }
        // Somebody must have been waiting, and have had a first look.
        let settled = since.saturating_sub(5 * SECOND);
        let is_awaited = self.processes.iter().any(|(number, process)| {
            let is_fit = !process.has_crashed
                && process.closing.is_none()
                && (is_flaky || process.clean_since <= settled || process.clean_since == 0);
            is_fit
                && self
                    .waiters(*number, lock)
                    .is_some_and(|(calls, from)| !calls.is_empty() && *from <= settled)
        });
        if !is_awaited {
            return;
        }
        let took = now - since;
        let slow = |span: u64| if self.plan.drift > 0 { span * 100 / 95 } else { span };
        let trips = 4 * self.plan.latency.1 + 20 * MILLISECOND;
        let bound = match what {
            Pending::Released => slow(POLL) + trips,
            // A faster clock in the dead holder than in the campaigner dates the record later.
            Pending::Crashed => slow(POLL) + trips + TAKEOVER + slow(TAKEOVER) - TAKEOVER,
        };
        let bound = if is_flaky { 2 * bound } else { bound };
        if !is_flaky {
            match what {
                Pending::Released => self.tally.handovers.push(took),
                Pending::Crashed => self.tally.takeovers.push(took),
            }
        }
        if took > bound {
            let millis = |span: u64| span / MILLISECOND;
            let (took, bound) = (millis(took), millis(bound));
            self.violation(
                now,
                format!("I6: lock {lock} was won {took} ms after {what:?}, the bound is {bound} ms"),
            );
        }
    }
}
