//! PURE: what the witnesses have seen, to what was broken. The rules stand in the module above.

use std::collections::BTreeMap;
use std::time::Duration;

use super::line::{HoldId, How, Line, Look, Stretch};
use super::register::Act;
use super::{COVERED, span};

/// What was seen.
#[derive(Debug, Default)]
pub(super) struct Evidence {
    /// The file's lines, each with the file's length after it.
    pub(super) lines: Vec<(u64, Line)>,
    pub(super) unreadable: Vec<String>,
    /// In order of arrival.
    pub(super) acts: Vec<Act>,
    /// When each life of a process was killed.
    pub(super) kills: BTreeMap<(usize, u32), u64>,
}

/// What came of it.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    pub(super) violations: Vec<String>,
    pub(super) counts: Counts,
    /// From the end of a hold that was given back to the first look of the next.
    pub(super) after_release: Vec<Duration>,
    /// From the kill of a holder.
    pub(super) after_kill: Vec<Duration>,
    /// From the last look that said "held" of a hold that was lost.
    pub(super) after_loss: Vec<Duration>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) acquisitions: usize,
    pub(super) losses: usize,
    pub(super) dropped: usize,
    pub(super) accepted: usize,
    pub(super) stale: usize,
    /// Late acts, which the register refused.
    pub(super) refused: usize,
    /// Times that the flock was found taken.
    pub(super) contended: usize,
    /// Looks with a stop between their stamps.
    pub(super) split: usize,
}

/// A look whose stamps lie so far apart was interrupted.
const SPLIT: Duration = Duration::from_millis(50);

/// Nobody acts for so long only if nobody can have the lock.
const STANDSTILL: Duration = Duration::from_secs(20);

/// A hold, as its looks show it.
#[derive(Debug, Clone, Copy)]
struct Hold {
    id: HoldId,
    fence: u64,
    first: Look,
    /// The file's length with its first line.
    listed: u64,
    /// The last look that said "held".
    last: Look,
    end: Option<(How, u64)>,
}

pub(super) fn judge(evidence: &Evidence) -> Verdict {
    let mut verdict = Verdict::default();
    for line in &evidence.unreadable {
        verdict.violations.push(format!("unreadable line: {line:?}"));
    }
    let holds = holds(evidence, &mut verdict);
    verdict.overlaps(&holds);
    verdict.contentions(evidence);
    verdict.acts(evidence, &holds);
    verdict.hand_overs(evidence, holds.into_values().collect());
    verdict
}

/// The holds whose work has seen them live.
fn holds(evidence: &Evidence, verdict: &mut Verdict) -> BTreeMap<HoldId, Hold> {
    let mut holds: BTreeMap<HoldId, Hold> = BTreeMap::new();
    for (length, line) in &evidence.lines {
        match *line {
            Line::Look(look) => {
                verdict.counts.split += usize::from(span(look.after - look.before) > SPLIT);
                let Some(fence) = look.fence else { continue };
                let id = look.at.hold;
                let new = Hold { id, fence, first: look, listed: *length, last: look, end: None };
                let hold = holds.entry(id).or_insert(new);
                hold.last = look;
                if hold.fence != fence {
                    let was = hold.fence;
                    verdict.violations.push(format!("7: the fence of {id} was {was}, and then {fence}"));
                }
            }
            Line::End(id, how, at) => {
                // A call that is dropped may have held nothing, or have come to its end before.
                let Some(hold) = holds.get_mut(&id).filter(|hold| hold.end.is_none()) else { continue };
                hold.end = Some((how, at));
                verdict.counts.losses += usize::from(how == How::Lost);
                verdict.counts.dropped += usize::from(how == How::Dropped);
            }
            Line::Contended(..) => {}
        }
    }
    verdict.counts.acquisitions = holds.len();
    holds
}

impl Verdict {
    /// Rules 1, 2, 3, 7.
    fn overlaps(&mut self, holds: &BTreeMap<HoldId, Hold>) {
        let mut by_fence: Vec<&Hold> = holds.values().collect();
        by_fence.sort_by_key(|hold| hold.fence);
        for pair in by_fence.windows(2) {
            let (one, other) = (pair[0], pair[1]);
            if one.fence == other.fence {
                self.violations.push(format!("7: {} and {} have the same fence", one.id, other.id));
            }
        }
        // Of those with higher fences, whoever started first, by the clock and in the file.
        let mut later: Option<(&Hold, &Hold)> = None;
        for hold in by_fence.into_iter().rev() {
            if let Some((by_clock, by_file)) = later {
                self.overlap(hold, by_clock, by_file);
            }
            let (mut by_clock, mut by_file) = later.unwrap_or((hold, hold));
            if hold.first.before < by_clock.first.before {
                by_clock = hold;
            }
            if hold.listed < by_file.listed {
                by_file = hold;
            }
            later = Some((by_clock, by_file));
        }
    }

    fn overlap(&mut self, hold: &Hold, by_clock: &Hold, by_file: &Hold) {
        let Hold { id, last, .. } = hold;
        let started = by_clock.first.before;
        if last.before > started {
            let much = span(last.before - started);
            self.violations.push(format!(
                "1: {} ran, with fence {}, and {much:?} later {id} was still told that it holds, with fence {}",
                by_clock.id, by_clock.fence, hold.fence
            ));
        } else if !matches!(hold.end, Some((How::Returned | How::Dropped, _))) {
            let gap = span(started - last.before);
            if gap < COVERED {
                let other = by_clock.id;
                self.violations.push(format!(
                    "3: {other} ran {gap:?} after {id} was told that it holds, which it never gave back"
                ));
            }
        }
        if last.seen >= by_file.listed {
            self.violations
                .push(format!("2: {id} read that {} ran, and was told after that it holds", by_file.id));
        }
    }

    /// Rule 4.
    fn contentions(&mut self, evidence: &Evidence) {
        let mut is_held = BTreeMap::new();
        for (_, line) in &evidence.lines {
            if let Line::Look(look) = line {
                is_held.insert(look.at, look.fence.is_some());
            }
        }
        // At both ends.
        let is_live = |stretch: Stretch| {
            let end = Stretch { number: stretch.number + 1, ..stretch };
            [stretch, end].iter().all(|look| is_held.get(look) == Some(&true))
        };
        for (_, line) in &evidence.lines {
            let Line::Contended(at, by) = *line else { continue };
            self.counts.contended += 1;
            if let Some(by) = by
                && is_live(at)
                && is_live(by)
            {
                self.violations.push(format!("4: {at} found {by} inside, and both were told that they hold"));
            }
        }
    }

    /// Rules 5, 6, 8.
    fn acts(&mut self, evidence: &Evidence, holds: &BTreeMap<HoldId, Hold>) {
        let mut followed: BTreeMap<HoldId, HoldId> = BTreeMap::new();
        let (mut last, mut highest): (Option<&Act>, _) = (None, 0);
        for act in &evidence.acts {
            let (id, at) = (act.at.hold, act.at);
            if !act.is_accepted {
                self.counts.refused += 1;
                let took = span(act.arrived.saturating_sub(act.before));
                // What a dropped call had sent may arrive at any time.
                let is_dropped =
                    holds.get(&id).is_some_and(|hold| matches!(hold.end, Some((How::Dropped, _))));
                if took < COVERED && !is_dropped {
                    self.violations.push(format!("6: {at} acted {took:?} after its look, and was refused"));
                }
                continue;
            }
            self.counts.accepted += 1;
            let by = followed.get(&id);
            if by.is_some() || act.fence < highest {
                self.counts.stale += 1;
                let by = by.map_or_else(|| format!("fence {highest}"), HoldId::to_string);
                self.violations.push(format!("5: a stale act of {at} was accepted after one of {by}"));
            }
            highest = highest.max(act.fence);
            if let Some(last) = last {
                let earlier = last.at.hold;
                if earlier != id {
                    followed.entry(earlier).or_insert(id);
                }
                let pause = span(act.arrived.saturating_sub(last.arrived));
                if pause > STANDSTILL {
                    self.violations.push(format!("8: nobody acted for {pause:?}, until {at}"));
                }
            }
            last = Some(act);
        }
    }

    fn hand_overs(&mut self, evidence: &Evidence, mut holds: Vec<Hold>) {
        holds.sort_by_key(|hold| hold.first.before);
        for pair in holds.windows(2) {
            let (hold, next) = (&pair[0], pair[1].first.before);
            let killed = evidence.kills.get(&(hold.id.node, hold.id.life));
            let (since, list) = match (hold.end, killed) {
                (Some((How::Returned | How::Dropped, at)), _) => (at, &mut self.after_release),
                (Some((How::Lost, _)), _) => (hold.last.before, &mut self.after_loss),
                (None, Some(at)) => (*at, &mut self.after_kill),
                (None, None) => continue,
            };
            list.push(span(next.saturating_sub(since)));
        }
        for list in [&mut self.after_release, &mut self.after_kill, &mut self.after_loss] {
            list.sort_unstable();
        }
    }
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
