//! The store that all nodes share. It has one clock, and numbers versions as it likes.

use tako::backend::{Owner, Record, StoreTime, Stored, Token};

use super::calendar::SECOND;
use super::chance::Chance;
use super::plan::{Plan, Tokens};

/// The store's time when the simulation begins, in milliseconds.
const EPOCH: u64 = 1_796_126_400_000;

pub(crate) struct Store {
    records: Vec<Place>,
    chance: Chance,
    tokens: Tokens,
    last: u64,
    is_limited: bool,
}

/// Where one record stands.
#[derive(Default)]
struct Place {
    stored: Option<Stored>,
    written: Option<u64>,
    /// How many swaps that expected nothing have been answered. One that was sent before cannot land any more.
    creations: u64,
}

pub(crate) enum Written {
    Applied { token: Token },
    Refused,
    Throttled,
}

/// What a swap went out with.
pub(crate) struct Swapping {
    pub(crate) expected: Option<Token>,
    pub(crate) record: Record,
    pub(crate) creations: u64,
}

impl Store {
    pub(crate) fn new(plan: &Plan) -> Store {
        Store {
            records: std::iter::repeat_with(Place::default).take(plan.locks).collect(),
            chance: Chance::new(plan.seed, 4),
            tokens: plan.tokens,
            last: 0,
            is_limited: plan.is_limited,
        }
    }

    pub(crate) fn time(now: u64) -> StoreTime {
        StoreTime::from_millis(EPOCH + now / 1_000)
    }

    pub(crate) fn load(&self, place: u8) -> Option<Stored> {
        self.records[usize::from(place)].stored.clone()
    }

    pub(crate) fn creations(&self, place: u8) -> u64 {
        self.records[usize::from(place)].creations
    }

    pub(crate) fn swap(&mut self, now: u64, place: u8, swapping: &Swapping) -> Written {
        let is_limited = self.is_limited;
        let token = self.next_token();
        let place = &mut self.records[usize::from(place)];
        if is_limited && place.written.is_some_and(|written| now < written + SECOND) {
            return Written::Throttled;
        }
        let is_current = match (&place.stored, &swapping.expected) {
            (Some(stored), Some(expected)) => stored.token == *expected,
            (None, None) => place.creations == swapping.creations,
            _ => false,
        };
        if swapping.expected.is_none() {
            place.creations += 1;
        }
        if !is_current {
            return Written::Refused;
        }
        place.written = Some(now);
        let stored = Stored { record: swapping.record.clone(), token: token.clone() };
        place.stored = Some(stored);
        Written::Applied { token }
    }

    /// An operator deletes the record; tells what it was.
    pub(crate) fn delete(&mut self, place: u8) -> Option<Record> {
        self.records[usize::from(place)].stored.take().map(|stored| stored.record)
    }

    /// An operator marks it as free, in its own name or in the holder's; or puts in another holder. Tells what stands
    /// there then.
    pub(crate) fn force(&mut self, now: u64, place: u8, how: u64) -> Option<Record> {
        let token = self.next_token();
        let stored = self.records[usize::from(place)].stored.as_mut()?;
        if stored.record.is_released() {
            return None;
        }
        stored.token = token;
        let record = &mut stored.record;
        if how != 0 {
            record.owner = Owner::new(format!("operator#{now:x}"));
        }
        if how == 2 {
            record.fence = tako::Fence::new(record.fence.get() + 1);
            record.expires = Store::time(now + 10 * SECOND);
        } else {
            record.expires = StoreTime::RELEASED;
        }
        Some(record.clone())
    }

    fn next_token(&mut self) -> Token {
        self.last += 1;
        Token::from(match self.tokens {
            Tokens::Up => self.last,
            Tokens::Down => u64::MAX - self.last,
            // Low bits that count keep them apart; the rest is noise.
            Tokens::Scattered => self.chance.draw() << 32 | self.last,
        })
    }
}
