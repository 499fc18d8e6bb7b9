//! What happened, its digest, and what the checks say of it.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};

use tako::backend::Owner;

use super::check::Checks;
use super::event::Event;
use super::plan::Plan;

/// One history, checked while it grows.
pub struct History {
    digest: Digest,
    /// Kept only for a timeline.
    events: Option<Vec<(u64, Event)>>,
    /// Only ever asked for one of them: its order is nobody's.
    owners: HashMap<Owner, u32>,
    calls: u32,
    /// What is checked.
    pub(crate) checks: Checks,
}

impl History {
    pub(crate) fn new(plan: &Plan, keeps_events: bool) -> History {
        History {
            digest: Digest(0xCBF2_9CE4_8422_2325),
            events: keeps_events.then(Vec::new),
            owners: HashMap::new(),
            calls: 0,
            checks: Checks::new(plan),
        }
    }

    pub(crate) fn note(&mut self, now: u64, event: Event) {
        (now, event).hash(&mut self.digest);
        if let Some(events) = &mut self.events {
            events.push((now, event));
        }
        self.checks.observe(now, &event);
    }

    /// The number of an owner; the same for the same text.
    pub(crate) fn owner(&mut self, owner: &Owner) -> u32 {
        let next = u32::try_from(self.owners.len() + 1).unwrap_or(u32::MAX);
        *self.owners.entry(owner.clone()).or_insert(next)
    }

    /// The number of the next call.
    pub(crate) fn call(&mut self) -> u32 {
        self.calls += 1;
        self.calls
    }

    /// Stands for the whole history.
    pub fn digest(&self) -> u64 {
        self.digest.finish()
    }

    /// All events, where they were kept.
    pub fn events(&self) -> &[(u64, Event)] {
        self.events.as_deref().unwrap_or_default()
    }
}

/// The same on every machine and in every build, which std's hasher does not promise.
struct Digest(u64);

impl Hasher for Digest {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u8(&mut self, number: u8) {
        self.write_u64(u64::from(number));
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0 ^ number).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
    }

    fn write_isize(&mut self, number: isize) {
        self.write_u64(number.unsigned_abs() as u64);
    }

    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }
}
