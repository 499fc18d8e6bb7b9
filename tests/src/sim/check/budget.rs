//! I8: how much a process may ask of the store, for each lock.
//!
//! Counted as credit: it grows with the process's own clock and with everything that gives cause for a request, and
//! each request takes of it. However many callers wait, it grows no faster: only a call's first look is its own.
//!
//! - Reads: one in 0.75 × POLL, and for each call, fault, and change of the record.
//! - Claims: one for each call, fault, and change of the record. Waiting alone gives no claim: campaigners poll with
//!   reads.
//! - Heartbeats: one in 85 % of HEARTBEAT, and for each fault.

use tako::policy;

use super::super::event::{Event, Verb};
use super::Checks;
use super::state::Credit;

const READ: i64 = nanos(policy::POLL) * 3 / 4;
const BEAT: i64 = nanos(policy::HEARTBEAT) * 85 / 100;

#[allow(clippy::cast_possible_truncation, reason = "seconds, not centuries")]
const fn nanos(span: std::time::Duration) -> i64 {
    span.as_nanos() as i64
}

impl Checks {
    pub(super) fn budget(&mut self, now: u64, event: &Event) {
        match *event {
            Event::Called { process, lock, .. } => self.grant(process, lock, 3, 1),
            Event::Landed { process, lock, is_applied: false, .. } => self.grant(process, lock, 2, 0),
            Event::Sent { process, lock, verb, owner, local, fault, .. } => {
                let changes = self.records[usize::from(lock)].changes;
                let is_new = verb == Verb::Claim
                    && self.owners.get(owner as usize).is_none_or(|owner| owner.claimed.is_none());
                let Some(state) = self.processes.get_mut(&process) else { return };
                if verb == Verb::Clock {
                    // A heartbeat that cannot be dated is made again and again, whichever the lock.
                    state.asked = now;
                    let faults = i64::from(fault.is_some());
                    state.credits.values_mut().for_each(|credit| credit.beats += 3 * faults * BEAT);
                    return;
                }
                if !self.plan.is_bounded() {
                    // Where clock rates differ by half, a heartbeat is due all the time.
                    return;
                }
                let credit = state.credits.entry(lock).or_insert_with(|| Credit {
                    local,
                    reads: 4 * READ,
                    claims: 2,
                    beats: 3 * BEAT,
                    changes,
                });
                let since = i64::try_from(local - credit.local).unwrap_or(i64::MAX / 4);
                let news = i64::try_from(changes - credit.changes).unwrap_or(0);
                let faults = i64::from(fault.is_some());
                credit.local = local;
                credit.changes = changes;
                credit.reads = (credit.reads + since).min(6 * READ) + (news + 2 * faults) * READ;
                credit.claims = (credit.claims + news).min(6) + faults;
                credit.beats = (credit.beats + since).min(4 * BEAT) + 2 * faults * BEAT;
                match verb {
                    Verb::Load => credit.reads -= READ,
                    Verb::Claim if is_new => credit.claims -= 1,
                    Verb::Beat => credit.beats -= BEAT,
                    _ => {}
                }
                let broken = match (credit.reads < 0, credit.claims < 0, credit.beats < 0) {
                    (true, ..) => "reads",
                    (_, true, _) => "claims",
                    (.., true) => "heartbeats",
                    _ => return,
                };
                (credit.reads, credit.claims, credit.beats) = (4 * READ, 2, 3 * BEAT);
                self.violation(now, format!("I8: too many {broken}: process {process}, lock {lock}"));
            }
            _ => {}
        }
    }

    fn grant(&mut self, process: u32, lock: u8, reads: i64, claims: i64) {
        let credit = self.processes.get_mut(&process).and_then(|state| state.credits.get_mut(&lock));
        if let Some(credit) = credit {
            credit.reads = (credit.reads + reads * READ).min(6 * READ);
            credit.beats = (credit.beats + BEAT).min(4 * BEAT);
            credit.claims += claims;
        }
    }
}
