//! What became of each tick, for the log and for whoever wants to count.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::backend::{Fence, Owner, StoreTime};
use crate::error::{LockError, Lost, Span};

/// One instant of a cron's schedule, as the work that runs for it sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tick {
    /// When the schedule says that it is: the same on every instance, whatever their clocks show.
    pub scheduled: SystemTime,
    /// How much later the work was started, by the clock that the schedule is read on: the host's wall clock, or under
    /// `singleton` the store's.
    pub late: Duration,
    /// The fence of the lease that it runs under; `None` when every instance runs every tick.
    pub fence: Option<Fence>,
}

/// What became of a tick on this instance.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Report {
    /// The cron's name.
    pub cron: &'static str,
    /// The tick's scheduled instant; of several that were missed at once, the first.
    pub scheduled: SystemTime,
    /// What became of it.
    pub outcome: Outcome,
}

/// What became of a tick on this instance. All but [`Ran`](Outcome::Ran) mean that the work was not started here.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Outcome {
    /// The work was started, and has ended.
    Ran {
        /// What the work was given.
        tick: Tick,
        /// How long it took.
        took: Duration,
        /// How it ended.
        result: Result<(), RunFault>,
    },
    /// Another instance has claimed this tick, or a later one: the ordinary lot of most instances under `singleflight`.
    Claimed {
        /// Who stands in the record.
        by: Option<Owner>,
        /// The last tick that was claimed.
        mark: SystemTime,
    },
    /// An earlier run still went on, here or on another instance.
    Running {
        /// Who runs, as far as is known.
        by: Option<Owner>,
    },
    /// This host's clock is so far ahead of the store's that it must not claim ticks.
    Early {
        /// How far in the future the tick was.
        by: Duration,
    },
    /// The store refused, or gave no answer until the next tick came.
    Unclaimed {
        /// What it said.
        error: LockError,
    },
    /// Ticks came and went that this instance did not see: it was stopped, its clock was set forward, or, under
    /// `singleton`, nobody had the lease.
    Missed {
        /// The last of them.
        last: SystemTime,
        /// How many; 1000 stands for that many or more.
        ticks: u32,
    },
}

/// How work that was started did not end well. The schedule goes on.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum RunFault {
    /// It returned an error, with this text.
    #[error("it failed: {0}")]
    Failed(Arc<str>),
    /// It panicked, with this message.
    #[error("it panicked: {0}")]
    Panicked(Arc<str>),
    /// It returned a value after its lease had been lost: another instance may have begun a later tick by then.
    #[error(transparent)]
    Lost(#[from] Lost),
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = |owner: &Option<Owner>| owner.as_ref().map_or("somebody".to_owned(), Owner::to_string);
        match self {
            Outcome::Ran { took, result: Ok(()), .. } => write!(f, "done in {}", Span(*took)),
            Outcome::Ran { took, result: Err(fault), .. } => write!(f, "after {}, {fault}", Span(*took)),
            Outcome::Claimed { by, mark } => {
                write!(f, "skipped: claimed by {}, with the mark {}", known(by), StoreTime::from(*mark))
            }
            Outcome::Running { by } => write!(f, "skipped: an earlier run goes on, by {}", known(by)),
            Outcome::Early { by } => write!(
                f,
                "skipped: this host's clock is about {} ahead of the store's. Set it right",
                Span(*by)
            ),
            Outcome::Unclaimed { error } => write!(f, "skipped: {error}"),
            Outcome::Missed { last, ticks } => {
                write!(f, "missed, with all up to {}: {ticks} in all", StoreTime::from(*last))
            }
        }
    }
}

/// Called with what became of each tick on this instance: for metrics, and for tests. The log says the same.
///
/// It is called where the schedule runs, so it must be quick.
///
/// # Examples
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicU64, Ordering};
/// use tako::cron::{CronConfig, Observer, Outcome};
///
/// let ran = Arc::new(AtomicU64::new(0));
/// let counter = ran.clone();
/// let observer = Observer::new(move |report| {
///     if matches!(report.outcome, Outcome::Ran { .. }) {
///         counter.fetch_add(1, Ordering::Relaxed);
///     }
/// });
/// let config = CronConfig { singleflight: true, observer: Some(observer), ..CronConfig::default() };
/// # let _ = config;
/// ```
#[derive(Clone)]
pub struct Observer(Arc<dyn Fn(&Report) + Send + Sync>);

impl Observer {
    /// An observer that calls `observe`.
    pub fn new(observe: impl Fn(&Report) + Send + Sync + 'static) -> Observer {
        Observer(Arc::new(observe))
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Observer")
    }
}

impl Report {
    pub(super) fn tell(self, observer: Option<&Observer>) {
        let Report { cron, scheduled, outcome } = &self;
        let tick = StoreTime::from(*scheduled);
        match outcome {
            Outcome::Ran { result: Ok(()), .. } => tracing::info!(cron, %tick, "cron tick: {outcome}"),
            Outcome::Ran { .. } => tracing::error!(cron, %tick, "cron tick: {outcome}; the schedule goes on"),
            Outcome::Claimed { .. } | Outcome::Running { .. } => {
                tracing::info!(cron, %tick, "cron tick: {outcome}");
            }
            Outcome::Early { .. } | Outcome::Unclaimed { .. } | Outcome::Missed { .. } => {
                tracing::warn!(cron, %tick, "cron tick: {outcome}");
            }
        }
        if let Some(Observer(observe)) = observer {
            observe(&self);
        }
    }
}
