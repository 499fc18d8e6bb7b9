//! The tables that specify the pure decisions.

use std::time::Duration;

use super::{
    Confirmed, Expiry, Reading, RecordFault, Refusal, Step, View, Watched, after_refusal, beat_due, deadline,
    expiry, is_useful, judge, loss_of,
};
use crate::backend::{Extra, Fence, Owner, Record, StoreTime, Stored, Token};
use crate::clock::Moment;
use crate::error::LossCause;
use crate::policy::Policy;

const LOCK: &str = "gallery/prod/reindex";

const fn at(millis: u64) -> Moment {
    Moment::from_nanos(millis * 1_000_000)
}

const fn store(millis: u64) -> StoreTime {
    StoreTime::from_millis(millis)
}

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn record(owner: &str, expires: u64) -> Record {
    Record {
        owner: Owner::new(owner),
        expires: store(expires),
        fence: Fence::new(7),
        lock: LOCK.into(),
        mark: None,
        extra: Extra::NONE,
    }
}

fn stored(owner: &str, expires: u64) -> Stored {
    Stored { record: record(owner, expires), token: Token::from(3) }
}

fn view(now: Moment, store: Option<Reading>, watched: Option<&Watched>) -> View<'_> {
    View { now, store, is_fresh: false, watched, tick: None, policy: &Policy::V0 }
}

fn reading(time: u64, error: u64) -> Reading {
    Reading { time: store(time), error: ms(error) }
}

fn marked(owner: &str, expires: u64, mark: Option<u64>) -> Stored {
    let Stored { record, token } = stored(owner, expires);
    Stored { record: Record { mark: mark.map(store), ..record }, token }
}

const TICK: u64 = 1_000_000;

fn for_tick(store_time: Option<Reading>) -> View<'static> {
    View { tick: Some(store(TICK)), ..view(at(0), store_time, None) }
}

#[test]
fn a_tick_is_claimed_once_whoever_holds_the_lease_since() {
    let now = Some(reading(TICK + 20, 10));
    let taken = || Step::Take { expected: Some(Token::from(3)), fence: Fence::new(TICK + 10) };
    for (mark, expires, step) in [
        (None, 0, taken()),
        (Some(TICK - 1), 0, taken()),
        (Some(TICK), 0, Step::Spent { mark: store(TICK) }),
        (Some(TICK + 60_000), 0, Step::Spent { mark: store(TICK + 60_000) }),
        // Held, by whom ever: a tick that was claimed is told so, and another has to wait.
        (Some(TICK), TICK + 30_000, Step::Spent { mark: store(TICK) }),
        (Some(TICK - 1), TICK + 30_000, Step::Wait),
        (None, TICK + 30_000, Step::Wait),
        // Run out long ago.
        (Some(TICK), TICK - 60_000, Step::Spent { mark: store(TICK) }),
    ] {
        assert_eq!(
            judge(LOCK, Some(&marked("p#1", expires, mark)), &for_tick(now)),
            step,
            "{mark:?} {expires}"
        );
        let lock = judge(LOCK, Some(&marked("p#1", expires, mark)), &view(at(0), now, None));
        assert!(matches!(lock, Step::Take { .. } | Step::Wait), "a mark is nothing to a lock: {lock:?}");
    }
    let foreign = Stored {
        record: Record { lock: "a/b/c".into(), ..marked("p#1", 0, Some(TICK)).record },
        ..stored("p#1", 0)
    };
    assert!(matches!(judge(LOCK, Some(&foreign), &for_tick(now)), Step::Refuse(_)), "first of all");
}

#[test]
fn a_tick_in_the_future_is_not_claimed() {
    let released = stored("p#1", 0);
    let early = |time: u64, error: u64| judge(LOCK, Some(&released), &for_tick(Some(reading(time, error))));
    let bound = 10_000;
    assert!(matches!(early(TICK - bound + 11, 10), Step::Take { .. }), "within the bound, surely");
    assert_eq!(early(TICK - bound - 11, 10), Step::Early { by: ms(bound + 11) });
    assert_eq!(early(TICK - bound, 10), Step::Calibrate, "on the edge: the store is asked");
    assert_eq!(early(TICK, 180_000), Step::Calibrate, "an old estimate tells nothing");
    let as_good_as_it_gets = View { is_fresh: true, ..for_tick(Some(reading(TICK - bound, 10))) };
    assert!(matches!(judge(LOCK, Some(&released), &as_good_as_it_gets), Step::Early { .. }));
    assert_eq!(judge(LOCK, Some(&released), &for_tick(None)), Step::Calibrate, "never blindly");
    assert!(matches!(
        judge(LOCK, None, &for_tick(Some(reading(TICK, 5)))),
        Step::Take { expected: None, .. }
    ));
}

#[test]
fn a_lock_that_nobody_has_is_taken() {
    let absent = judge(LOCK, None, &view(at(0), Some(reading(1_000, 5)), None));
    assert_eq!(
        absent,
        Step::Take { expected: None, fence: Fence::new(1_005) },
        "the first fence is the present"
    );
    let released = judge(LOCK, Some(&stored("p#1", 0)), &view(at(0), None, None));
    assert_eq!(released, Step::Take { expected: Some(Token::from(3)), fence: Fence::new(8) });
}

#[test]
fn a_fence_grows_and_never_falls_behind_the_present() {
    for (now, expected) in [(None, 8), (Some(5), 8), (Some(8), 8), (Some(9), 9), (Some(70_000), 70_000)] {
        let view = view(at(0), now.map(|now| reading(now, 0)), None);
        let step = judge(LOCK, Some(&stored("p#1", 0)), &view);
        assert_eq!(
            step,
            Step::Take { expected: Some(Token::from(3)), fence: Fence::new(expected) },
            "{now:?}"
        );
    }
}

#[test]
fn a_new_record_needs_the_stores_time_for_its_fence() {
    assert_eq!(judge(LOCK, None, &view(at(0), None, None)), Step::Calibrate);
    let coarse = view(at(0), Some(reading(9_000, 501)), None);
    assert_eq!(judge(LOCK, None, &coarse), Step::Calibrate);
    let as_good_as_it_gets = View { is_fresh: true, ..coarse };
    let take = Step::Take { expected: None, fence: Fence::new(9_501) };
    assert_eq!(judge(LOCK, None, &as_good_as_it_gets), take);
}

#[test]
fn expiry_goes_by_the_stores_time_and_its_error() {
    // The record expires at 30,000; it can be taken at 32,000, once that is certain.
    let table = [
        (Some(reading(20_000, 0)), Step::Wait),
        (Some(reading(31_999, 0)), Step::Wait),
        (Some(reading(32_000, 0)), take(32_000)),
        (Some(reading(32_100, 101)), Step::Wait),
        (Some(reading(32_200, 101)), take(32_099)),
        // Perhaps, but the estimate is too coarse to tell: it is made anew.
        (Some(reading(32_500, 600)), Step::Calibrate),
        (Some(reading(31_500, 600)), Step::Calibrate),
        (Some(reading(31_000, 600)), Step::Wait),
        (Some(reading(32_300, 500)), Step::Wait),
        (Some(reading(90_000, 30_000)), take(60_000)),
        (None, Step::Calibrate),
    ];
    for (reading, expected) in table {
        let step = judge(LOCK, Some(&stored("p#1", 30_000)), &view(at(0), reading, None));
        assert_eq!(step, expected, "{reading:?}");
    }
}

/// The records of these tests have fence 7, and the present is later.
fn take(fence: u64) -> Step {
    Step::Take { expected: Some(Token::from(3)), fence: Fence::new(fence) }
}

#[test]
fn a_version_that_stood_still_for_long_enough_is_dead_whatever_the_clocks_say() {
    let watched = Watched { token: Token::from(3), since: at(1_000) };
    let far = stored("p#1", 9_000_000);
    for (now, expected) in [(32_999, Step::Wait), (33_000, take(5_000))] {
        assert_eq!(
            judge(LOCK, Some(&far), &view(at(now), Some(reading(5_000, 0)), Some(&watched))),
            expected,
            "{now}"
        );
    }
    let other = Watched { token: Token::from(2), since: at(1_000) };
    let renewed = judge(LOCK, Some(&far), &view(at(99_000), Some(reading(5_000, 0)), Some(&other)));
    assert_eq!(renewed, Step::Wait, "another version was watched: this one is alive");
}

#[test]
fn what_is_not_our_record_is_left_alone() {
    let mut foreign = stored("p#1", 0);
    foreign.record.lock = "gallery/prod/other".into();
    let step = judge(LOCK, Some(&foreign), &view(at(0), Some(reading(99_000, 0)), None));
    assert_eq!(step, Step::Refuse(RecordFault::Foreign { found: "gallery/prod/other".into() }));
    let mut last = stored("p#1", 0);
    last.record.fence = Fence::new(u64::MAX);
    let step = judge(LOCK, Some(&last), &view(at(0), Some(reading(99_000, 0)), None));
    assert_eq!(step, Step::Refuse(RecordFault::FenceExhausted), "a fence never wraps round");
}

#[test]
fn no_record_that_may_be_live_is_ever_taken() {
    // Every time and error on a grid: whenever the true store time may be below expiry + GUARD, it is not taken.
    for time in (0..80_000).step_by(250) {
        for error in [0, 1, 10, 499, 501, 5_000, 29_000] {
            let view = view(at(0), Some(reading(time, error)), None);
            let is_past = matches!(expiry(store(30_000), &Token::from(3), &view), Expiry::Past);
            assert!(!is_past || time.saturating_sub(error) >= 32_000, "taken at {time} give or take {error}");
        }
    }
}

#[test]
fn a_refusal_is_explained_by_the_record() {
    let ours = record("p#1", 30_000);
    assert_eq!(after_refusal(&ours, Some(stored("p#1", 30_000))), Refusal::Ours(Token::from(3)));
    assert_eq!(after_refusal(&ours, Some(stored("p#1", 20_000))), Refusal::Earlier(stored("p#1", 20_000)));
    assert_eq!(after_refusal(&ours, None), Refusal::Others(None));
    for others in [stored("p#2", 30_000), stored("p#10", 30_000), stored("p", 30_000), stored("p#1", 0)] {
        assert_eq!(after_refusal(&ours, Some(others.clone())), Refusal::Others(Some(others)));
    }
    let release = record("p#1", 0);
    assert_eq!(after_refusal(&release, Some(stored("p#1", 0))), Refusal::Ours(Token::from(3)));
    assert_eq!(after_refusal(&release, Some(stored("p#1", 9))), Refusal::Earlier(stored("p#1", 9)));
}

#[test]
fn a_deadline_counts_from_the_first_send_and_heeds_the_store() {
    let confirmed = |applied, expires, error| Confirmed {
        first_sent: at(100),
        known: at(5_200),
        applied,
        expires: store(expires),
        error,
    };
    let table = [
        // Reckoned right: TTL - MARGIN after the send, however late the answer.
        (confirmed(Some((at(100), store(1_000))), 31_000, Some(ms(0))), Some(at(28_100))),
        // Sent again 5 s later and applied then: still from the first send.
        (confirmed(Some((at(5_100), store(6_000))), 31_000, Some(ms(0))), Some(at(28_100))),
        // The store dates it later than was thought: less is left than a TTL.
        (confirmed(Some((at(100), store(11_000))), 31_000, Some(ms(0))), Some(at(18_100))),
        // Or earlier: never more than a TTL from the send.
        (confirmed(Some((at(100), store(500))), 31_000, Some(ms(0))), Some(at(28_100))),
        // It had run out before it was applied.
        (confirmed(Some((at(100), store(40_000))), 31_000, Some(ms(0))), Some(at(0))),
        // Not dated: what the reckoning may be off comes out of the lease.
        (confirmed(None, 31_000, Some(ms(700))), Some(at(27_400))),
        // A guess that the store has not confirmed is worth nothing.
        (confirmed(None, 31_000, None), None),
        (confirmed(Some((at(100), store(1_000))), 31_000, None), Some(at(28_100))),
    ];
    for (number, (write, expected)) in table.into_iter().enumerate() {
        assert_eq!(deadline(&write, &Policy::V0), expected, "row {number}");
    }
}

#[test]
fn heartbeats_are_due_a_third_into_the_lease() {
    assert_eq!(beat_due(at(28_100), at(150), &Policy::V0), at(10_100));
    assert_eq!(
        beat_due(at(18_100), at(150), &Policy::V0),
        at(1_150),
        "a shorter lease is renewed as soon as may be"
    );
    assert_eq!(
        beat_due(at(28_100), at(15_000), &Policy::V0),
        at(16_000),
        "and so is one that was confirmed late"
    );
}

#[test]
fn a_grant_that_comes_late_is_not_started() {
    assert!(is_useful(at(28_000), at(23_000), &Policy::V0));
    for now in [23_001, 28_000, 31_000] {
        assert!(!is_useful(at(28_000), at(now), &Policy::V0), "{now}");
    }
}

#[test]
fn a_loss_names_who_has_it_now() {
    let ours = Owner::new("p#1");
    assert!(
        matches!(loss_of(Some(record("p#2", 9)), &ours), LossCause::Taken { by, .. } if by.as_str() == "p#2")
    );
    assert!(
        matches!(loss_of(Some(record("p#1", 0)), &ours), LossCause::Vanished),
        "marked free by an operator"
    );
    assert!(matches!(loss_of(None, &ours), LossCause::Vanished));
}
