//! Each rule on the smallest history that breaks it, and on its neighbour that does not.

use super::{Act, Evidence, HoldId, How, Line, Look, Stretch, Verdict, judge};

const MS: u64 = 1_000_000;

/// A history in the making. Times are milliseconds.
#[derive(Default)]
struct History {
    evidence: Evidence,
    length: u64,
}

fn hold(node: usize) -> HoldId {
    HoldId { node, life: 1, call: 1 }
}

fn stretch(node: usize, number: u32) -> Stretch {
    Stretch { hold: hold(node), number }
}

impl History {
    fn line(&mut self, line: Line) -> &mut History {
        self.length += 10;
        self.evidence.lines.push((self.length, line));
        self
    }

    /// A look that has seen the file as it is.
    fn look(&mut self, node: usize, number: u32, fence: u64, before: u64) -> &mut History {
        self.look_having_seen(self.length, node, number, fence, before)
    }

    fn look_having_seen(
        &mut self,
        seen: u64,
        node: usize,
        number: u32,
        fence: u64,
        before: u64,
    ) -> &mut History {
        let fence = Some(fence).filter(|fence| *fence > 0);
        let (before, after) = (before * MS, before * MS + 1);
        self.line(Line::Look(Look { at: stretch(node, number), fence, seen, before, after }))
    }

    fn end(&mut self, node: usize, how: How, at: u64) -> &mut History {
        self.line(Line::End(hold(node), how, at * MS))
    }

    fn act(&mut self, node: usize, fence: u64, before: u64, arrived: u64, is_accepted: bool) -> &mut History {
        let at = stretch(node, 0);
        let act = Act { at, fence, before: before * MS, arrived: arrived * MS, is_accepted };
        self.evidence.acts.push(act);
        self
    }

    fn judged(&self) -> Verdict {
        judge(&self.evidence)
    }

    /// The rules that were broken.
    #[track_caller]
    fn breaks(&self, rules: &str) {
        let violations = self.judged().violations;
        let mut broken: Vec<&str> = violations.iter().filter_map(|text| text.get(..1)).collect();
        broken.sort_unstable();
        broken.dedup();
        assert_eq!(broken.concat(), rules, "{violations:#?}");
    }
}

#[test]
fn one_after_another_breaks_nothing() {
    let mut history = History::default();
    history.look(1, 0, 5, 0).act(1, 5, 0, 1, true).look(1, 1, 5, 100).end(1, How::Returned, 101);
    history.look(2, 0, 6, 102).act(2, 6, 102, 103, true).end(2, How::Lost, 3_000);
    history.look(3, 0, 7, 4_000).act(3, 7, 4_000, 4_001, true);
    history.breaks("");
    let verdict = history.judged();
    assert_eq!((verdict.counts.acquisitions, verdict.counts.losses, verdict.counts.accepted), (3, 1, 3));
    assert_eq!(verdict.after_release, [std::time::Duration::from_millis(1)]);
}

#[test]
fn an_earlier_hold_that_is_told_so_after_a_later_one_runs_is_an_overlap() {
    // The file's order says so as well, unless the earlier one had read it before.
    History::default().look(1, 0, 5, 0).look(2, 0, 6, 1_000).look(1, 1, 5, 1_001).breaks("12");
    History::default().look(1, 0, 5, 0).look(2, 0, 6, 1_000).look_having_seen(10, 1, 1, 5, 1_001).breaks("1");
    // By the clock it is undecided, and then the order of the file decides.
    History::default().look(1, 0, 5, 0).look(2, 0, 6, 1_000).look(1, 1, 5, 1_000).breaks("23");
    // It was told that it has lost.
    History::default().look(1, 0, 5, 0).look(2, 0, 6, 1_000).look(1, 1, 0, 1_001).breaks("");
}

#[test]
fn a_third_hold_hides_no_overlap() {
    let mut history = History::default();
    history.look(1, 0, 5, 0).look(2, 0, 6, 1_000).end(2, How::Returned, 1_001).look(3, 0, 7, 1_002);
    history.breaks("");
    history.look_having_seen(10, 1, 1, 5, 1_001).breaks("1");
}

#[test]
fn whoever_gave_nothing_back_is_followed_late() {
    // Killed, or lost, and followed too soon; given back, and followed at once.
    History::default().look(1, 0, 5, 0).look(2, 0, 6, 500).breaks("3");
    History::default().look(1, 0, 5, 0).end(1, How::Lost, 400).look(2, 0, 6, 500).breaks("3");
    History::default().look(1, 0, 5, 0).look(2, 0, 6, 600).breaks("");
    History::default().look(1, 0, 5, 0).end(1, How::Dropped, 1).look(2, 0, 6, 2).breaks("");
}

#[test]
fn a_flock_held_from_look_to_look_is_found_by_nobody_who_holds() {
    let contended = Line::Contended(stretch(2, 0), Some(stretch(1, 0)));
    // Undecided by the clock and by the file, so that the flock alone can tell.
    let mut history = History::default();
    history.look_having_seen(0, 1, 0, 5, 0).end(1, How::Dropped, 0).look_having_seen(0, 2, 0, 6, 50);
    history.line(contended).look_having_seen(0, 2, 1, 6, 51);
    history.breaks("");
    assert_eq!(history.judged().counts.contended, 1);
    history.look_having_seen(0, 1, 1, 5, 50).breaks("4");
    // The one that had it was stopped, and then told.
    let mut stopped = History::default();
    stopped.look(1, 0, 5, 0).look(2, 0, 6, 4_000).line(contended).look(2, 1, 6, 4_100).look(1, 1, 0, 4_200);
    stopped.breaks("");
}

#[test]
fn a_late_act_is_refused_or_it_is_stale() {
    let mut history = History::default();
    history.look(1, 0, 5, 0).act(1, 5, 0, 1, true).look(2, 0, 6, 4_000).act(2, 6, 4_000, 4_001, true);
    history.act(1, 5, 0, 4_500, false).breaks("");
    assert_eq!(history.judged().counts.refused, 1);
    history.act(1, 5, 0, 4_600, true).breaks("5");
    // Its very first act, even.
    let mut first = History::default();
    first.act(2, 6, 4_000, 4_001, true).act(1, 5, 0, 4_600, true).breaks("5");
    // Accepted by its fence, which is a wrong one.
    let mut wrong = History::default();
    wrong.act(1, 9, 0, 1, true).act(2, 9, 4_000, 4_001, true).act(1, 9, 0, 4_600, true).breaks("5");
}

#[test]
fn a_prompt_act_is_accepted() {
    let mut history = History::default();
    history.act(2, 6, 0, 1, true).act(1, 5, 100, 400, false).breaks("6");
    // Unless its call was dropped meanwhile.
    history.look(1, 0, 5, 100).end(1, How::Dropped, 101).breaks("");
}

#[test]
fn fences_are_one_a_hold() {
    History::default().look(1, 0, 5, 0).end(1, How::Returned, 1).look(2, 0, 5, 2).breaks("7");
    History::default().look(1, 0, 5, 0).look(1, 1, 6, 1).breaks("7");
}

#[test]
fn a_long_standstill_is_told() {
    History::default().act(1, 5, 0, 0, true).act(2, 6, 19_000, 19_000, true).breaks("");
    History::default().act(1, 5, 0, 0, true).act(2, 6, 21_000, 21_000, true).breaks("8");
}
