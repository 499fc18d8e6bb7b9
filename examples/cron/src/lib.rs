//! Three replicas of an app in one process, over one table in memory, with a job each minute.
//!
//! Time is accelerated: tokio's clock is paused, and jumps to whatever is waited for next. An engine that runs on such a
//! runtime reads its wall clock there too, so minutes pass in milliseconds.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use tako::backend::MemoryLease;
use tako::cron::{CronConfig, Observer, Outcome, Report};
use tako::prelude::*;
use tako::{Engine, LockError};
use tokio::task::JoinSet;

static ROLLUP: Cron = cron!("rollup", "* * * * *");

/// What became of one tick on one replica.
#[derive(Debug)]
pub struct Line {
    /// Which replica.
    pub replica: &'static str,
    /// Which tick.
    pub scheduled: SystemTime,
    /// What became of it.
    pub outcome: Outcome,
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tick = tako::StoreTime::from(self.scheduled);
        write!(f, "{tick}  {}  {}", self.replica, self.outcome)
    }
}

/// Runs the job on three replicas for so many minutes, and tells what became of each tick on each of them. The second
/// replica leaves half-way.
///
/// # Errors
/// As `Cron::run`.
pub async fn play(config: CronConfig, minutes: u64) -> Result<Vec<Line>, LockError> {
    let (table, lines) = (MemoryLease::new(), Arc::new(Mutex::new(Vec::new())));
    let mut replicas = JoinSet::new();
    for (number, replica) in ["web-1", "web-2", "web-3"].into_iter().enumerate() {
        let engine = Engine::builder(table.clone()).label(replica).on_callers_runtime().build()?;
        let stays = if number == 1 { minutes / 2 } else { minutes };
        let (config, written) = (config.clone(), lines.clone());
        replicas.spawn(async move {
            let observer = Observer::new(move |report: &Report| {
                let Report { scheduled, outcome, .. } = report.clone();
                let line = Line { replica, scheduled, outcome };
                written.lock().unwrap_or_else(PoisonError::into_inner).push(line);
            });
            let config = CronConfig { observer: Some(observer), ..config };
            let ctx = engine.ctx().with_timeout(Duration::from_mins(stays));
            ROLLUP
                .run(&ctx, config, async |ctx, _tick| {
                    // The job itself, of 50 ms. One that is told to stop stops.
                    ctx.until_cancelled(tokio::time::sleep(Duration::from_millis(50))).await;
                    ctx.check()
                })
                .await?;
            // A clean exit gives back what is held: another replica goes on at once.
            let shutdown = engine.shutdown(Duration::from_secs(10)).await;
            if !shutdown.is_clean() {
                println!("{replica} left {:?} to lapse", shutdown.left_to_lapse());
            }
            Ok::<_, LockError>(())
        });
    }
    for ended in replicas.join_all().await {
        ended?;
    }
    let mut lines = std::mem::take(&mut *lines.lock().unwrap_or_else(PoisonError::into_inner));
    lines.sort_by_key(|line| (line.scheduled, line.replica));
    Ok(lines)
}
