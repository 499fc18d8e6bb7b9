//! What a store did against its contract.

use std::error::Error;
use std::fmt;

use crate::backend::{BackendError, ErrorKind};

/// A sentence of the contract that a store has broken, and how that was seen.
///
/// Its text is made for the log of a failed test: the property by name, what came back, the sentence, and the
/// requests that led there.
#[derive(Debug, Clone)]
pub struct Violation {
    pub(super) property: &'static str,
    pub(super) found: String,
    pub(super) contract: &'static str,
    pub(super) requests: Vec<String>,
    pub(super) error: Option<BackendError>,
}

impl Violation {
    /// The name of the property that does not hold; `probe` for what the probe stopped at.
    pub fn property(&self) -> &'static str {
        self.property
    }

    /// The sentence of the contract that was broken.
    pub fn contract(&self) -> &'static str {
        self.contract
    }

    /// Of which kind the error was that ended the trial, where one did.
    pub(super) fn kind(&self) -> Option<ErrorKind> {
        self.error.as_ref().map(BackendError::kind)
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Violation { property, found, contract, requests, .. } = self;
        write!(f, "`{property}` does not hold: {found}\n  the contract: {contract}")?;
        requests.iter().try_for_each(|request| write!(f, "\n  {request}"))
    }
}

impl Error for Violation {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        // The error's own text stands in `found`.
        self.error.as_ref().and_then(Error::source)
    }
}

/// The sentences of the contract, as `LeaseBackend` has them.
pub(super) mod contract {
    pub(crate) const KEYS: &str = "one record a key, and keys do not influence each other";
    pub(crate) const ATOMIC: &str = "of any number of swaps that name the same expected token, at most one is \
        applied, and a refused one changes nothing";
    pub(crate) const FRESH: &str =
        "every applied swap makes a fresh token, unequal to each that the key ever had";
    pub(crate) const READS: &str = "`load` reads what was last applied, with its token: once a swap has \
        answered, every later load sees it";
    pub(crate) const ABSENT: &str = "`load` answers `None` when there is no record";
    pub(crate) const EXPECTED: &str = "`swap` writes only while the stored token is the expected one (`None`: \
        only while nothing is stored)";
    pub(crate) const APPLIES: &str = "`swap` writes while the stored token is the expected one";
    pub(crate) const REFUSAL: &str = "a refusal is no error: it is `Swap::Refused`";
    pub(crate) const WHOLE: &str =
        "a record comes back as it was written: every field, those it does not know included";
    pub(crate) const STATELESS: &str = "a record given back is a record like any other: what is free, expired \
        or released is the engine's to judge";
    pub(crate) const DROPPED: &str = "every verb may be dropped at any await: the write is then applied whole or \
        not at all, and once a swap on the same token has answered, it can no longer land";
    pub(crate) const CLOCK: &str = "`now` tells the store's own time: one clock for every instance, running at \
        the rate of the host's, give or take `CLOCK_TOLERANCE`";
    pub(crate) const DATED: &str = "`at` is when the write was made, by the clock that `now` reads, give or take \
        `CLOCK_TOLERANCE`";
    pub(crate) const CORRUPT: &str = "a body that is not a record is `ErrorKind::Corrupt`, never `None`";
    pub(crate) const HEALTHY: &str = "the suite judges a healthy store: this error proves nothing against the \
        contract, and nothing for it. See to it and run again; a store that limits the rate needs a slower `Pace`";
    pub(crate) const ANSWERS: &str = "every request is answered, and no dropped request blocks a later one";
}
