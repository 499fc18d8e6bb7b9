//! What calls to the store are for, and which of them a rule of [`faulty`](crate::faulty) is about.

use std::time::Duration;

/// What a call is for. The three kinds of write are told apart by their bodies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verb {
    /// A read of the record.
    Load,
    /// A question for the store's time.
    Clock,
    /// A write of an owner that this link has not seen before, or the same again.
    Claim,
    /// A later expiry for that owner.
    Beat,
    /// The record marked as free.
    Release,
}

/// Which calls a rule speaks for.
#[derive(Debug, Clone)]
pub struct Calls {
    verbs: &'static [Verb],
    skip: u32,
    most: u32,
    from: Duration,
    until: Duration,
}

const fn calls(verbs: &'static [Verb]) -> Calls {
    Calls { verbs, skip: 0, most: u32::MAX, from: Duration::ZERO, until: Duration::MAX }
}

/// Every read of the record.
pub fn loads() -> Calls {
    calls(&[Verb::Load])
}

/// Every question for the store's time.
pub fn clock() -> Calls {
    calls(&[Verb::Clock])
}

/// Every write that asks for the lease.
pub fn claims() -> Calls {
    calls(&[Verb::Claim])
}

/// Every write that keeps it up.
pub fn beats() -> Calls {
    calls(&[Verb::Beat])
}

/// Every write that gives it back.
pub fn releases() -> Calls {
    calls(&[Verb::Release])
}

/// Every write.
pub fn writes() -> Calls {
    calls(&[Verb::Claim, Verb::Beat, Verb::Release])
}

/// Whatever is asked of the store.
pub fn all_calls() -> Calls {
    calls(&[Verb::Load, Verb::Clock, Verb::Claim, Verb::Beat, Verb::Release])
}

impl Calls {
    /// The first `count` of them.
    #[must_use]
    pub fn first(self, count: u32) -> Calls {
        Calls { most: count, ..self }
    }

    /// All but the first `count` of them. Before [`first`](Calls::first): that many after those.
    #[must_use]
    pub fn after(self, count: u32) -> Calls {
        Calls { skip: count, ..self }
    }

    /// Those that are sent at `from` or later, counted from when the table was made.
    #[must_use]
    pub fn since(self, from: Duration) -> Calls {
        Calls { from, ..self }
    }

    /// Those that are sent between the two instants.
    #[must_use]
    pub fn between(self, from: Duration, until: Duration) -> Calls {
        Calls { from, until, ..self }
    }

    /// Whether the rule decides this call; counts it if so.
    pub(crate) fn speak_for(&mut self, verb: Verb, now: Duration) -> bool {
        if self.most == 0 || !self.verbs.contains(&verb) || !(self.from..self.until).contains(&now) {
            return false;
        }
        if self.skip > 0 {
            self.skip -= 1;
            return false;
        }
        self.most -= 1;
        true
    }
}
