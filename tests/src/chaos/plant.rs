//! Mistakes that are made on purpose, to show that the checks see them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tako::backend::{
    BackendError, ErrorKind, GcsLease, Key, LeaseBackend, Record, StoreTime, Stored, Swap, Token,
};

use super::POLICY;

/// One mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plant {
    /// The work takes every look for "held", and never sees a loss.
    Unchecked,
    /// The clocks of all processes but one run at half their speed, so their deadlines come late.
    SlowClock,
    /// Records say that they end two seconds sooner than their holders believe.
    ShortRecord,
    /// A write that was refused, or that failed, is taken for written: as by a proxy that answers for the store.
    YesMan,
    /// The store looks at no condition.
    CarelessStore,
    /// The register accepts every act.
    OpenRegister,
    /// A process that ends leaves a task, a thread and a descriptor behind.
    Leaky,
}

impl Plant {
    /// All of them.
    pub const ALL: [Plant; 7] = [
        Plant::Unchecked,
        Plant::SlowClock,
        Plant::ShortRecord,
        Plant::YesMan,
        Plant::CarelessStore,
        Plant::OpenRegister,
        Plant::Leaky,
    ];

    /// What the command calls it.
    pub fn name(self) -> &'static str {
        match self {
            Plant::Unchecked => "unchecked",
            Plant::SlowClock => "slow-clock",
            Plant::ShortRecord => "short-record",
            Plant::YesMan => "yes-man",
            Plant::CarelessStore => "careless-store",
            Plant::OpenRegister => "open-register",
            Plant::Leaky => "leaky",
        }
    }

    pub(super) fn named(name: &str) -> Option<Plant> {
        Plant::ALL.into_iter().find(|plant| plant.name() == name)
    }
}

/// The store, with a mistake on the way to it.
#[derive(Debug)]
pub(super) struct Twisted {
    lease: GcsLease,
    plant: Plant,
    made_up: Arc<AtomicU64>,
}

impl Twisted {
    pub(super) fn new(lease: GcsLease, plant: Plant) -> Twisted {
        Twisted { lease, plant, made_up: Arc::default() }
    }
}

impl LeaseBackend for Twisted {
    async fn load(&self, key: &Key) -> Result<Option<Stored>, BackendError> {
        self.lease.load(key).await
    }

    async fn swap(&self, key: &Key, expected: Option<&Token>, record: &Record) -> Result<Swap, BackendError> {
        let mut written = record.clone();
        if self.plant == Plant::ShortRecord && !record.is_released() {
            let short = record.expires.as_millis().saturating_sub(2_000);
            written.expires = StoreTime::from_millis(short);
        }
        let answer = self.lease.swap(key, expected, &written).await;
        match (self.plant, answer) {
            // Dated by nobody, so that what is left of the lease is reckoned by the process itself.
            (Plant::ShortRecord, Ok(Swap::Applied { token, .. })) => Ok(Swap::Applied { token, at: None }),
            (Plant::YesMan, Ok(Swap::Refused)) => Ok(self.yes()),
            (Plant::YesMan, Err(error)) if error.kind() != ErrorKind::Misconfigured => Ok(self.yes()),
            (_, answer) => answer,
        }
    }

    async fn now(&self) -> Result<StoreTime, BackendError> {
        self.lease.now().await
    }
}

impl Twisted {
    fn yes(&self) -> Swap {
        let number = self.made_up.fetch_add(1, Ordering::Relaxed) + 1;
        Swap::Applied { token: Token::from(number), at: None }
    }
}

/// What the slow clock makes of true time.
pub(super) const SLOWNESS: u32 = 2;

const _: () = assert!(POLICY.ttl.as_millis() > 2_000, "a short record is still one");
