//! Instances of an app with clocks of their own, one cron, and a ledger of what became of each tick.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use tako::backend::{Key, Record};
use tako::cron::{CronConfig, Observer, Outcome, Report, Tick};
use tako::prelude::{Cron, cron};
use tako::{Ctx, Fence, LockError, StoreTime};
use tako_lock_tests::host::{Clocks, Host};
use tako_lock_tests::table::{Process, Table};
use tokio::task::JoinHandle;
use tokio::time::sleep;

/// The cron that the tests run: a tick each minute.
pub(crate) static MINUTELY: Cron = cron!("minutely", "* * * * *");

/// Each tick on one instance.
pub(crate) fn singleflight() -> CronConfig {
    CronConfig { singleflight: true, ..CronConfig::default() }
}

/// All ticks on one instance.
pub(crate) fn singleton() -> CronConfig {
    CronConfig { singleton: true, ..CronConfig::default() }
}

/// The store, and what everybody saw.
#[derive(Clone)]
pub(crate) struct Stage {
    pub(crate) table: Arc<Table>,
    ledger: Arc<Mutex<Ledger>>,
}

#[derive(Default)]
struct Ledger {
    reports: Vec<(String, Report)>,
    starts: Vec<(String, Tick)>,
    /// Work under a lease that has not ended.
    running: BTreeMap<usize, (String, Ctx)>,
    runners: BTreeMap<SystemTime, String>,
    last_fence: Option<Fence>,
}

/// One instance of the app.
pub(crate) struct Instance {
    pub(crate) host: Host,
    pub(crate) process: Process,
    /// The call that runs the cron.
    pub(crate) task: JoinHandle<Result<(), LockError>>,
    pub(crate) ctx: Ctx,
}

impl Stage {
    /// A stage whose store's clock stands at a full minute.
    pub(crate) async fn new() -> Stage {
        let stage = Stage { table: Arc::new(Table::new()), ledger: Arc::default() };
        sleep(Duration::from_millis(60_000 - stage.table.time().as_millis() % 60_000)).await;
        stage
    }

    /// So long after a full minute: a clock that is behind by less shows the same minute.
    pub(crate) async fn after(span: Duration) -> Stage {
        let stage = Stage::new().await;
        sleep(span).await;
        stage
    }

    /// The tick of so many minutes from now.
    pub(crate) fn tick(&self, minutes: u64) -> SystemTime {
        let now = self.table.time().as_millis();
        StoreTime::from_millis((now - now % 60_000) + minutes * 60_000).into()
    }

    /// An instance whose wall clock is ahead by so many milliseconds. Its work takes `length`.
    pub(crate) fn start(&self, label: &str, ahead: i64, config: &CronConfig, length: Duration) -> Instance {
        let host = self.host(label, ahead);
        self.start_on(host, label, config, length)
    }

    pub(crate) fn host(&self, label: &str, ahead: i64) -> Host {
        let seed = label.bytes().map(u64::from).sum();
        let host = Host::new(&self.table, Clocks::RIGHT, seed);
        host.set_clock(ahead);
        host
    }

    pub(crate) fn start_on(
        &self,
        host: Host,
        label: &str,
        config: &CronConfig,
        length: Duration,
    ) -> Instance {
        self.start_with(host, label, config, move |_| length)
    }

    /// The same with a length for each tick.
    pub(crate) fn start_with(
        &self,
        host: Host,
        label: &str,
        config: &CronConfig,
        length: impl Fn(Tick) -> Duration + Send + Sync + 'static,
    ) -> Instance {
        let process = host.process(&self.table, label);
        let ctx = process.ctx();
        let config = CronConfig { observer: Some(self.observer(label)), ..config.clone() };
        let (stage, label, gate, inner) = (self.clone(), label.to_owned(), host.clone(), ctx.clone());
        let task = tokio::spawn(async move {
            let run = MINUTELY
                .run(&inner, config, async |ctx, tick| stage.work(&label, &ctx, tick, length(tick)).await);
            gate.gate(run).await
        });
        Instance { host, process, task, ctx }
    }

    pub(crate) fn observer(&self, label: &str) -> Observer {
        let (ledger, label) = (self.ledger.clone(), label.to_owned());
        Observer::new(move |report| lock(&ledger).reports.push((label.clone(), report.clone())))
    }

    /// Works for so long, or until told to stop; fails the test if this tick ran before, or somebody else still runs.
    pub(crate) async fn work(
        &self,
        who: &str,
        ctx: &Ctx,
        tick: Tick,
        length: Duration,
    ) -> Result<(), LockError> {
        let number = lock(&self.ledger).enter(who, ctx, tick);
        ctx.until_cancelled(sleep(length)).await;
        lock(&self.ledger).running.remove(&number);
        ctx.check()
    }

    /// Everything that was started so far.
    pub(crate) fn starts(&self) -> Vec<(String, Tick)> {
        lock(&self.ledger).starts.clone()
    }

    /// Who ran `tick`.
    pub(crate) fn runner(&self, tick: SystemTime) -> Option<String> {
        lock(&self.ledger).runners.get(&tick).cloned()
    }

    /// What `who` reported of `tick`.
    pub(crate) fn outcomes(&self, who: &str, tick: SystemTime) -> Vec<Outcome> {
        let is_it = |(label, report): &&(String, Report)| label == who && report.scheduled == tick;
        lock(&self.ledger).reports.iter().filter(is_it).map(|(_, report)| report.outcome.clone()).collect()
    }

    /// The one thing that `who` reported of `tick`.
    pub(crate) fn outcome(&self, who: &str, tick: SystemTime) -> Outcome {
        let outcomes = self.outcomes(who, tick);
        assert_eq!(outcomes.len(), 1, "{who} reports each tick once: {outcomes:?}");
        outcomes.into_iter().next().expect("one")
    }

    /// All reports so far.
    pub(crate) fn reports(&self) -> Vec<(String, Report)> {
        lock(&self.ledger).reports.clone()
    }

    /// The cron's record.
    pub(crate) fn record(&self) -> Option<Record> {
        self.table.stored_at(&key()).map(|stored| stored.record)
    }

    /// The mark in the record.
    pub(crate) fn mark(&self) -> Option<SystemTime> {
        self.record()?.mark.map(SystemTime::from)
    }
}

/// Where the cron's lease is kept.
pub(crate) fn key() -> Key {
    Key::new("leases/run-app-dev-cron.minutely", "app/dev/cron.minutely")
}

impl Ledger {
    fn enter(&mut self, who: &str, ctx: &Ctx, tick: Tick) -> usize {
        if let Some(fence) = tick.fence {
            assert_eq!(ctx.fence(), Some(fence), "work starts under a live lease");
            for (other, earlier) in self.running.values() {
                assert!(earlier.check().is_err(), "two at once: {who} starts while {other} runs");
            }
            let runner = self.runners.insert(tick.scheduled, who.into());
            assert_eq!(runner, None, "{who} runs {tick:?}, which ran before");
            assert!(self.last_fence <= Some(fence), "I2: {fence} of {who} after {:?}", self.last_fence);
            self.last_fence = Some(fence);
        }
        self.starts.push((who.into(), tick));
        let number = self.starts.len();
        if tick.fence.is_some() {
            self.running.insert(number, (who.into(), ctx.clone()));
        }
        number
    }
}

impl Instance {
    /// The machine stops dead: nothing that it had begun is finished, and nothing is sent any more.
    pub(crate) fn crash(self) {
        self.host.suspend();
        self.task.abort();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
