//! PURE: where a schedule stands, given what a clock shows. Clocks step; a cursor does not lose its way for that.

use std::time::{Duration, SystemTime};

use super::schedule::Schedule;

/// A clock that was set back by more than this had been wrong: the schedule starts anew from what it shows now. By
/// less, and the ticks between are waited out, so that none begins twice.
const WAITED_OUT: Duration = Duration::from_hours(3);
/// So many ticks are counted as missed at once, and no more.
const COUNTED: u32 = 1_000;

/// The next tick of a schedule.
pub(super) struct Cursor {
    /// No tick up to here is looked for.
    from: SystemTime,
    /// The last tick that was dealt with here.
    dealt: Option<SystemTime>,
    /// What a clock that may be set back showed last.
    seen: Option<SystemTime>,
    next: Option<SystemTime>,
}

/// What a look at the clock found.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// The next tick comes so much later.
    Wait(Duration),
    /// This tick has come, and its successor has not. Earlier ones came and went unseen.
    Due { tick: SystemTime, missed: Option<Missed> },
    /// More ticks came and went than are counted: it goes on with the next one.
    Leapt(Missed),
    /// There is no tick any more.
    Never,
}

/// Ticks that nobody saw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Missed {
    pub(super) first: SystemTime,
    pub(super) last: SystemTime,
    /// At most [`COUNTED`], which stands for more.
    pub(super) ticks: u32,
}

impl Missed {
    /// The ticks after `after` up to `upto`, if any.
    pub(super) fn between(schedule: &Schedule, after: SystemTime, upto: SystemTime) -> Option<Missed> {
        let ticks = std::iter::successors(schedule.next_after(after), |tick| schedule.next_after(*tick));
        let within = ticks.take_while(|tick| *tick <= upto).zip(1..=COUNTED);
        within.fold(None, |missed, (last, ticks)| {
            let first = missed.map_or(last, |missed: Missed| missed.first);
            Some(Missed { first, last, ticks })
        })
    }
}

impl Cursor {
    /// On a clock that shows `now`, and that may be set back.
    pub(super) fn on_wall(schedule: &Schedule, now: SystemTime) -> Cursor {
        Cursor { from: now, dealt: None, seen: Some(now), next: schedule.next_after(now) }
    }

    /// On a clock that goes on, from an instant that it has surely passed by `from`, and with every tick up to `dealt` dealt
    /// with.
    pub(super) fn onwards(schedule: &Schedule, from: SystemTime, dealt: Option<SystemTime>) -> Cursor {
        let mut cursor = Cursor { from, dealt, seen: None, next: None };
        cursor.aim(schedule);
        cursor
    }

    /// Looks at a clock that shows `now`.
    pub(super) fn look(&mut self, schedule: &Schedule, now: SystemTime) -> Look {
        if self.seen.is_some_and(|seen| now < seen) {
            self.from = now;
            self.dealt = self.dealt.filter(|dealt| *dealt <= now + WAITED_OUT);
            self.aim(schedule);
        }
        self.seen = self.seen.map(|_| now);
        let Some(first) = self.next else { return Look::Never };
        if let Ok(left) = first.duration_since(now)
            && !left.is_zero()
        {
            return Look::Wait(left);
        }
        let (mut tick, mut missed) = (first, None);
        while let Some(next) = schedule.next_after(tick).filter(|next| *next <= now) {
            let ticks = missed.map_or(1, |missed: Missed| missed.ticks + 1);
            missed = Some(Missed { first, last: tick, ticks });
            if ticks == COUNTED {
                self.pass(schedule, now);
                return Look::Leapt(Missed { first, last: tick, ticks });
            }
            tick = next;
        }
        Look::Due { tick, missed }
    }

    /// `tick` has been dealt with: it does not come again, even if the clock is set back a little.
    pub(super) fn deal(&mut self, schedule: &Schedule, tick: SystemTime) {
        self.dealt = self.dealt.max(Some(tick));
        self.pass(schedule, tick);
    }

    /// Nothing up to `instant` comes any more, unless the clock is set back.
    pub(super) fn pass(&mut self, schedule: &Schedule, instant: SystemTime) {
        self.from = self.from.max(instant);
        self.aim(schedule);
    }

    fn aim(&mut self, schedule: &Schedule) {
        self.next = schedule.next_after(self.dealt.map_or(self.from, |dealt| dealt.max(self.from)));
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime, UNIX_EPOCH};

    use super::{COUNTED, Cursor, Look, Missed, Schedule};

    /// 2026-12-01T00:00:00Z, and so many seconds.
    fn at(seconds: i64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(1_796_083_200_u64.checked_add_signed(seconds).unwrap())
    }

    fn minutely() -> Schedule {
        Schedule::parse("* * * * *", "UTC").unwrap()
    }

    fn due(tick: SystemTime) -> Look {
        Look::Due { tick, missed: None }
    }

    #[test]
    fn a_tick_comes_once_and_at_its_time() {
        let (schedule, mut cursor) = (minutely(), Cursor::on_wall(&minutely(), at(0)));
        assert_eq!(
            cursor.look(&schedule, at(0)),
            Look::Wait(Duration::from_mins(1)),
            "strictly after the start"
        );
        assert_eq!(cursor.look(&schedule, at(59)), Look::Wait(Duration::from_secs(1)));
        assert_eq!(cursor.look(&schedule, at(60)), due(at(60)));
        assert_eq!(cursor.look(&schedule, at(61)), due(at(60)), "until it is dealt with");
        cursor.deal(&schedule, at(60));
        assert_eq!(cursor.look(&schedule, at(61)), Look::Wait(Duration::from_secs(59)));
    }

    #[test]
    fn ticks_that_a_leap_passed_over_are_missed_and_the_last_is_due() {
        let (schedule, mut cursor) = (minutely(), Cursor::on_wall(&minutely(), at(0)));
        let missed = Some(Missed { first: at(60), last: at(120), ticks: 2 });
        assert_eq!(cursor.look(&schedule, at(200)), Look::Due { tick: at(180), missed });
        cursor.deal(&schedule, at(180));
        let Look::Leapt(missed) = cursor.look(&schedule, at(100_000_000)) else {
            panic!("too many to count")
        };
        assert_eq!((missed.first, missed.ticks), (at(240), COUNTED));
        assert!(matches!(cursor.look(&schedule, at(100_000_000)), Look::Wait(_)), "none is made up");
    }

    #[test]
    fn a_clock_that_is_set_back_a_little_begins_no_tick_again() {
        let (schedule, mut cursor) = (minutely(), Cursor::on_wall(&minutely(), at(0)));
        for minute in 1..=60 {
            assert_eq!(cursor.look(&schedule, at(minute * 60)), due(at(minute * 60)));
            cursor.deal(&schedule, at(minute * 60));
        }
        assert_eq!(cursor.look(&schedule, at(60)), Look::Wait(Duration::from_hours(1)));
        assert_eq!(cursor.look(&schedule, at(3_660)), due(at(3_660)));
    }

    #[test]
    fn a_clock_that_had_been_wrong_by_hours_starts_anew() {
        let (schedule, mut cursor) = (minutely(), Cursor::on_wall(&minutely(), at(100_000)));
        cursor.look(&schedule, at(100_020));
        cursor.deal(&schedule, at(100_020));
        assert_eq!(cursor.look(&schedule, at(0)), Look::Wait(Duration::from_mins(1)));
    }

    #[test]
    fn a_tick_that_was_not_dealt_with_comes_again_once_the_clock_is_right() {
        let (schedule, mut cursor) = (minutely(), Cursor::on_wall(&minutely(), at(3_600)));
        assert_eq!(cursor.look(&schedule, at(3_660)), due(at(3_660)));
        cursor.pass(&schedule, at(3_660));
        assert_eq!(cursor.look(&schedule, at(3_661)), Look::Wait(Duration::from_secs(59)));
        assert_eq!(cursor.look(&schedule, at(61)), Look::Wait(Duration::from_secs(59)), "set right");
    }

    #[test]
    fn on_a_clock_that_goes_on_nothing_behind_the_start_comes() {
        let (schedule, mut cursor) = (minutely(), Cursor::onwards(&minutely(), at(90), Some(at(60))));
        assert_eq!(cursor.look(&schedule, at(30)), Look::Wait(Duration::from_secs(90)));
        assert_eq!(cursor.look(&schedule, at(120)), due(at(120)));
        let mut cursor = Cursor::onwards(&schedule, at(90), Some(at(180)));
        assert_eq!(cursor.look(&schedule, at(200)), Look::Wait(Duration::from_secs(40)));
    }

    #[test]
    fn what_was_missed_between_two_instants_is_counted_up_to_a_limit() {
        assert_eq!(Missed::between(&minutely(), at(0), at(59)), None);
        let two = Missed { first: at(60), last: at(120), ticks: 2 };
        assert_eq!(Missed::between(&minutely(), at(0), at(120)), Some(two));
        assert_eq!(Missed::between(&minutely(), at(0), at(100_000_000)).unwrap().ticks, COUNTED);
    }

    #[test]
    fn a_schedule_that_ends_ends() {
        let once = Schedule::parse("0 0 29 2 *", "UTC").unwrap();
        assert!(matches!(Cursor::on_wall(&once, at(0)).look(&once, at(0)), Look::Wait(_)));
    }
}
