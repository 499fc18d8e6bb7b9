#![doc = include_str!("../docs/cron.md")]

mod cursor;
mod report;
mod runner;
mod schedule;
mod schedule_rules;
mod singleton;

use std::fmt;
use std::future::Future;

use self::cursor::Cursor;
pub use self::report::{Observer, Outcome, Report, RunFault, Tick};
use self::runner::Runner;
pub(crate) use self::schedule::Schedule;
use crate::ctx::Ctx;
use crate::error::{ConfigError, LockError};
use crate::lock::{Declaration, Kind};

/// Work that recurs: a name, a schedule, and a time zone to read it in.
///
/// Declared with [`cron!`](macro@crate::cron) as a `static`. The name is the identity: instances that run the same name coordinate.
pub struct Cron {
    name: &'static str,
    schedule: &'static str,
    zone: &'static str,
}

/// How a cron runs across the instances of an app. By default every instance runs every tick.
#[derive(Debug, Clone, Default)]
pub struct CronConfig {
    /// Each tick runs on at most one instance, and never while an earlier run goes on. The instances stay equal: any of
    /// them may run the next.
    pub singleflight: bool,
    /// One instance runs the schedule, for as long as it holds the cron's lease; the others wait to take over.
    pub singleton: bool,
    /// Is told what became of each tick.
    pub observer: Option<Observer>,
}

impl Cron {
    /// For the macro, by way of `private`, which has looked at all three.
    pub(crate) const fn new(name: &'static str, schedule: &'static str, zone: &'static str) -> Cron {
        Cron { name, schedule, zone }
    }

    /// The name that it was declared with: its identity. Its lease is `cron.<name>`, see
    /// [`Engine::inspect`](crate::Engine::inspect).
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The schedule, as it was declared.
    pub const fn schedule(&self) -> &'static str {
        self.schedule
    }

    /// The time zone that the schedule is read in.
    pub const fn zone(&self) -> &'static str {
        self.zone
    }

    /// Runs `work` for the ticks of the schedule, until `ctx` ends or the engine shuts down.
    ///
    /// The first tick is the first one after the call; what was missed before is not made up. One call runs `work` once at
    /// a time: a tick that comes while it runs is skipped, and reported. An error and a panic of `work` are logged, with
    /// the tick and the name, and reported; the schedule goes on. A panic is caught, so state that `work` shares with
    /// later runs must bear being left half-way.
    ///
    /// `work` gets a context and the [`Tick`]. Under `singleflight` and `singleton` the context is that of the lease, as
    /// with [`Lock::run`](crate::Lock::run): it is cancelled when the lease is lost, and at shutdown, which waits for
    /// the running work. It is called anew for each tick, so what it captures it has to share: by reference, or cloned
    /// into each future.
    ///
    /// # Errors
    /// [`LockError::Config`]: `singleflight` and `singleton` exclude each other; the name is declared with another schedule
    /// as well; there is no engine, or no runtime.
    /// [`LockError::Reentrant`]: `ctx` descends from this cron's own lease, as `singleton`. Everything else that goes
    /// wrong is reported with its tick, and the schedule goes on.
    ///
    /// # Cancel safety
    /// Dropping the future drops `work` where it stands, and gives the lease back in the background. The tick that it ran
    /// for stays claimed.
    ///
    /// # Examples
    /// ```no_run
    /// use tako::cron::CronConfig;
    /// use tako::prelude::*;
    /// use tako::LockError;
    ///
    /// static NIGHTLY: Cron = cron!("nightly-rollup", "0 3 * * *");
    ///
    /// # async fn roll_up(_ctx: &Ctx) -> Result<(), LockError> { Ok(()) }
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), LockError> {
    /// let ctx = Ctx::background();
    /// let once = CronConfig { singleflight: true, ..CronConfig::default() };
    /// NIGHTLY
    ///     .run(&ctx, once, async |ctx, tick| {
    ///         println!("rolling up for {:?}, {:?} late", tick.scheduled, tick.late);
    ///         roll_up(&ctx).await
    ///     })
    ///     .await
    /// # }
    /// ```
    pub async fn run<E, F, Fut>(&self, ctx: &Ctx, config: CronConfig, work: F) -> Result<(), LockError>
    where
        F: FnMut(Ctx, Tick) -> Fut,
        Fut: Future<Output = Result<(), E>>,
        E: fmt::Display,
    {
        let CronConfig { singleflight, singleton, observer } = config;
        if singleflight && singleton {
            let why = format!(
                "cron \"{}\" is configured as `singleflight` and as `singleton`, which exclude each other: \
                 the one lets any instance run the next tick, the other keeps them all on one. Choose one",
                self.name
            );
            return Err(ConfigError::one(why).into());
        }
        self.has_one_schedule()?;
        let schedule = Schedule::parse(self.schedule, self.zone)
            .map_err(|fault| ConfigError::one(format!("cron \"{}\" has no schedule: {fault}", self.name)))?;
        let mut runner = Runner::new(self.name, ctx, schedule, observer)?;
        match (singleflight, singleton) {
            (true, _) => runner.once_a_tick(work).await,
            (_, true) => runner.on_one_instance(work).await,
            _ => runner.everywhere(work).await,
        }
    }

    /// Two schedules under one name would skip each other's ticks.
    fn has_one_schedule(&self) -> Result<(), ConfigError> {
        let Cron { name, schedule, zone } = *self;
        let is_other = |kind| matches!(kind, Kind::Cron { .. }) && kind != Kind::Cron { schedule, zone };
        match crate::declared().into_iter().find(|other| other.name == name && is_other(other.kind)) {
            None => Ok(()),
            Some(Declaration { file, line, .. }) => Err(ConfigError::one(format!(
                "cron \"{name}\", `{schedule}` in {zone}, is declared with another schedule at {file}:{line}. The name is \
                 the identity: make them one, or give one of them another name"
            ))),
        }
    }
}

impl fmt::Debug for Cron {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Cron").field(&self.name).field(&self.schedule).field(&self.zone).finish()
    }
}
