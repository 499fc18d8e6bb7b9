//! What must hold of the decisions for every clock, record and reading: no lease is taken while its holder may still act.

use std::time::Duration;

use proptest::prelude::*;

use super::{
    Confirmed, Reading, RecordFault, Step, View, Watched, after_refusal, beat_due, deadline, is_useful, judge,
};
use crate::backend::{Extra, Fence, Owner, Record, StoreTime, Stored, Token};
use crate::clock::Moment;
use crate::engine::store_time::StoreClock;
use crate::policy::{GUARD, MARGIN, Policy, TTL};

const LOCK: &str = "gallery/prod/reindex";

/// The whole range, its ends, and the small numbers where most of the decisions are made.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![any::<u64>(), 0..100_000_u64, Just(0), Just(1), Just(u64::MAX)]
}

fn moment() -> impl Strategy<Value = Moment> {
    prop_oneof![number(), 0..100_000_000_000_u64].prop_map(Moment::from_nanos)
}

fn store_time() -> impl Strategy<Value = StoreTime> {
    number().prop_map(StoreTime::from_millis)
}

fn span() -> impl Strategy<Value = Duration> {
    prop_oneof![
        number().prop_map(Duration::from_secs),
        number().prop_map(Duration::from_nanos),
        Just(Duration::MAX)
    ]
}

prop_compose! {
    fn reading()(time in store_time(), error in span()) -> Reading {
        Reading { time, error }
    }
}

prop_compose! {
    fn stored()(expires in store_time(), fence in number(), token in 0..3_u64) -> Stored {
        let record = Record {
            owner: Owner::new("p#1"),
            expires,
            fence: Fence::new(fence),
            lock: LOCK.into(),
            mark: None,
            extra: Extra::NONE,
        };
        Stored { record, token: Token::from(token) }
    }
}

prop_compose! {
    fn confirmed()(
        first_sent in moment(),
        known in moment(),
        applied in prop::option::of((moment(), store_time())),
        expires in store_time(),
        error in prop::option::of(span()),
    ) -> Confirmed {
        Confirmed { first_sent, known, applied, expires, error }
    }
}

proptest! {
    #[test]
    fn only_what_is_past_for_certain_is_taken_and_the_fence_grows(
        stored in prop::option::weighted(0.9, stored()),
        now in moment(),
        reading in prop::option::of(reading()),
        is_fresh in any::<bool>(),
        watched in prop::option::of((0..3_u64, moment())),
    ) {
        let watched = watched.map(|(token, since)| Watched { token: Token::from(token), since });
        let view = View { now, store: reading, is_fresh, watched: watched.as_ref(), tick: None, policy: &Policy::V0 };
        let step = judge(LOCK, stored.as_ref(), &view);
        let Some(Stored { record, token }) = stored else {
            // Nobody's: all that is asked is that the fence is not behind the present.
            let Step::Take { expected: None, fence } = step else {
                prop_assert_eq!(step, Step::Calibrate);
                return Ok(());
            };
            prop_assert!(reading.is_some_and(|reading| fence.get() >= reading.latest().as_millis()));
            return Ok(());
        };
        let stood_still = watched
            .as_ref()
            .is_some_and(|watched| watched.token == token && now.since(watched.since) >= TTL + GUARD);
        let is_past = reading.is_some_and(|reading| reading.earliest() >= record.expires.plus(GUARD));
        match step {
            Step::Take { expected, fence } => {
                prop_assert!(record.is_released() || stood_still || is_past);
                prop_assert_eq!(expected, Some(token), "on the version that was looked at");
                prop_assert!(fence > record.fence);
                prop_assert!(reading.is_none_or(|reading| fence.get() >= reading.earliest().as_millis()));
            }
            Step::Refuse(fault) => {
                prop_assert_eq!(fault, RecordFault::FenceExhausted);
                prop_assert_eq!(record.fence, Fence::new(u64::MAX));
            }
            Step::Spent { .. } | Step::Early { .. } => prop_assert!(false, "no tick is asked for"),
            Step::Wait | Step::Calibrate => {
                prop_assert!(!record.is_released() && !stood_still && !is_past, "a dead lease is taken over");
            }
        }
    }

    #[test]
    fn the_record_of_another_lock_is_left_alone(stored in stored(), reading in prop::option::of(reading()), now in moment()) {
        let view = View { now, store: reading, is_fresh: true, watched: None, tick: None, policy: &Policy::V0 };
        let step = judge("gallery/prod/other", Some(&stored), &view);
        prop_assert_eq!(step, Step::Refuse(RecordFault::Foreign { found: LOCK.into() }));
    }

    #[test]
    fn a_reading_that_is_good_enough_is_never_asked_for_again(
        stored in prop::option::of(stored()), time in store_time(), error in 0..=500_u64, now in moment(),
    ) {
        let reading = Reading { time, error: Duration::from_millis(error) };
        let view = View { now, store: Some(reading), is_fresh: false, watched: None, tick: None, policy: &Policy::V0 };
        prop_assert_ne!(judge(LOCK, stored.as_ref(), &view), Step::Calibrate);
    }

    #[test]
    fn a_deadline_is_never_later_than_the_send_or_the_store_allows(
        write in confirmed(), later in span(),
    ) {
        let Some(until) = deadline(&write, &Policy::V0) else {
            prop_assert!(write.applied.is_none() && write.error.is_none(), "nobody can tell");
            return Ok(());
        };
        prop_assert!(until <= write.first_sent.plus(TTL).minus(MARGIN));
        if let Some((sent, at)) = write.applied {
            prop_assert!(until <= sent.plus(write.expires.since(at)).minus(MARGIN));
        }
        // Whatever is known worse of it, or came later, makes it no longer.
        let worse = Confirmed {
            applied: write.applied.map(|(sent, at)| (sent, at.plus(later))),
            error: write.error.map(|error| error.saturating_add(later)),
            ..write
        };
        prop_assert!(deadline(&worse, &Policy::V0) <= Some(until));
    }

    #[test]
    fn a_heartbeat_is_due_at_its_pace_and_in_time(until in moment(), known in moment()) {
        let due = beat_due(until, known, &Policy::V0);
        prop_assert!(due >= known.plus(Policy::V0.pace));
        prop_assert!(due <= known.plus(Policy::V0.pace) || due <= until.minus(Policy::V0.slack()));
        prop_assert_eq!(is_useful(until, known, &Policy::V0), until.since(known) >= Policy::V0.useful);
    }

    #[test]
    fn only_its_own_write_is_taken_for_its_own(ours in stored(), other in prop::option::of(stored()), is_owner in any::<bool>()) {
        use super::Refusal::{Earlier, Others, Ours};
        let other = other.map(|mut other| {
            other.record.owner = Owner::new(if is_owner { "p#1" } else { "p#2" });
            other
        });
        match after_refusal(&ours.record, other.clone()) {
            Ours(token) => {
                let other = other.unwrap();
                prop_assert!(is_owner && token == other.token && other.record.expires == ours.record.expires);
            }
            Earlier(stored) => {
                prop_assert!(is_owner && stored.record.expires != ours.record.expires);
                prop_assert_eq!(Some(stored), other);
            }
            Others(stored) => {
                prop_assert!(!is_owner || other.as_ref().is_none_or(|other| other.record.is_released()));
                prop_assert_eq!(stored, other);
            }
        }
    }
}

/// A host's clock: where it stood when the story began, and how many parts in a million it is fast.
#[derive(Debug, Clone, Copy)]
struct Clock {
    origin: u64,
    fast: u64,
}

const MILLION: u64 = 1_000_000;

impl Clock {
    /// What it shows `nanos` into the story.
    fn at(self, nanos: u64) -> Moment {
        let shown = u128::from(nanos) * u128::from(self.fast) / u128::from(MILLION);
        Moment::from_nanos(self.origin + u64::try_from(shown).unwrap())
    }
}

/// Up to 5 % slow or fast: the bound under which exclusion is promised.
fn clock() -> impl Strategy<Value = Clock> {
    let rate = prop_oneof![Just(MILLION * 20 / 21 + 1), Just(MILLION * 21 / 20), 952_382..=1_050_000_u64];
    (0..10_u64.pow(15), rate).prop_map(|(origin, fast)| Clock { origin, fast })
}

const fn ms(millis: u64) -> u64 {
    millis * MILLION
}

/// The store's time, `nanos` into the story, to its millisecond.
fn store_at(nanos: u64) -> StoreTime {
    StoreTime::from_millis(1_000_000_000 + nanos / MILLION)
}

/// Instants of a request: sent, carried out, answered.
fn request(from: std::ops::Range<u64>) -> impl Strategy<Value = [u64; 3]> {
    let leg = || prop_oneof![Just(0), 0..ms(50), 0..ms(3_000)];
    (from, leg(), leg()).prop_map(|(sent, there, back)| [sent, sent + there, sent + there + back])
}

fn learnt(clock: Clock, requests: &[[u64; 3]]) -> StoreClock {
    let store = StoreClock::default();
    for [sent, applied, answered] in requests {
        store.learn(clock.at(*sent), clock.at(*answered), store_at(*applied));
    }
    store
}

/// In the order of their answers, one after another.
fn in_order(mut requests: Vec<[u64; 3]>) -> Vec<[u64; 3]> {
    requests.sort_by_key(|[.., answered]| *answered);
    requests
}

proptest! {
    #[test]
    fn the_stores_clock_is_always_within_the_reading(
        clock in clock(),
        requests in prop::collection::vec(request(0..ms(600_000)), 1..6).prop_map(in_order),
        after in 0..ms(3_600_000),
    ) {
        let now = requests.last().unwrap()[2] + after;
        let reading = learnt(clock, &requests).read(clock.at(now)).unwrap();
        prop_assert!(reading.earliest() <= store_at(now), "{:?}", reading);
        // On this side, which robs nobody, the millisecond that each sum cuts off is let be, and what two clocks run
        // apart within half a round trip.
        let let_be = Duration::from_millis(2 + 3_000 / 20);
        prop_assert!(reading.latest().plus(let_be) >= store_at(now), "{:?}", reading);
    }

    /// I1: what the holder and the campaigner decide, each by its own clock, never overlaps.
    #[test]
    fn whoever_takes_a_lease_over_finds_its_holder_past_its_deadline(
        (holder, campaigner) in (clock(), clock()),
        write in request(0..ms(60_000)),
        resent in prop::option::of(0..ms(10_000)),
        // How far off the holder's idea of the store's time was, which it does not know.
        (is_behind, off) in (any::<bool>(), 0..20_000_u64),
        asked in prop::collection::vec(request(0..ms(120_000)), 0..4).prop_map(in_order),
        (seen, look) in (0..ms(20_000), 0..ms(40_000)),
        is_dated in any::<bool>(),
    ) {
        let [first, ..] = write;
        let [sent, applied, answered] = write.map(|at| at + resent.unwrap_or(0));
        let thought = if is_behind { ms(60_000 - off) } else { ms(60_000 + off) };
        let expires = StoreTime::from_millis(store_at(first + thought).as_millis() - 60_000).plus(TTL);
        let confirmed = Confirmed {
            first_sent: holder.at(first),
            known: holder.at(answered),
            applied: is_dated.then(|| (holder.at(sent), store_at(applied))),
            expires,
            error: Some(Duration::from_millis(off)),
        };
        let until = deadline(&confirmed, &Policy::V0).unwrap();

        let now = applied + seen + look;
        let answers: Vec<_> = asked.into_iter().filter(|[.., answered]| *answered <= now).collect();
        let stored = Stored {
            record: Record {
                owner: Owner::new("p#1"),
                expires,
                fence: Fence::new(7),
                lock: LOCK.into(),
                mark: None,
                extra: Extra::NONE,
            },
            token: Token::from(3),
        };
        let watched = Watched { token: Token::from(3), since: campaigner.at(applied + seen) };
        let view = View {
            now: campaigner.at(now),
            store: learnt(campaigner, &answers).read(campaigner.at(now)),
            is_fresh: false,
            watched: Some(&watched),
            tick: None,
            policy: &Policy::V0,
        };
        let takes = matches!(judge(LOCK, Some(&stored), &view), Step::Take { .. });
        prop_assert!(!takes || holder.at(now) >= until, "taken at {:?}, good until {:?}", holder.at(now), until);
    }
}
