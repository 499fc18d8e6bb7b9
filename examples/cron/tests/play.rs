//! The example does what it says.

use std::collections::BTreeMap;
use std::time::SystemTime;

use cron_example::{Line, play};
use tako::cron::{CronConfig, Outcome};

fn runs(lines: &[Line]) -> BTreeMap<SystemTime, Vec<&'static str>> {
    let mut runs: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for line in lines {
        if matches!(line.outcome, Outcome::Ran { result: Ok(()), .. }) {
            runs.entry(line.scheduled).or_default().push(line.replica);
        }
    }
    runs
}

#[tokio::test(start_paused = true)]
async fn every_replica_runs_every_tick() {
    let lines = play(CronConfig::default(), 10).await.unwrap();
    let runs = runs(&lines);
    assert_eq!(runs.len(), 10);
    assert_eq!(runs.values().filter(|replicas| replicas.len() == 3).count(), 5, "{runs:?}");
}

#[tokio::test(start_paused = true)]
async fn singleflight_runs_each_tick_once() {
    let lines = play(CronConfig { singleflight: true, ..CronConfig::default() }, 10).await.unwrap();
    let runs = runs(&lines);
    assert_eq!(runs.len(), 10);
    assert!(runs.values().all(|replicas| replicas.len() == 1), "{runs:?}");
    let skipped =
        lines.iter().filter(|line| matches!(line.outcome, Outcome::Claimed { .. } | Outcome::Running { .. }));
    assert_eq!(skipped.count(), 15, "the two others, and then the one: {lines:?}");
}

#[tokio::test(start_paused = true)]
async fn singleton_stays_with_one_replica() {
    let lines = play(CronConfig { singleton: true, ..CronConfig::default() }, 10).await.unwrap();
    let runs = runs(&lines);
    assert_eq!(runs.len(), 10, "no tick is lost in a clean hand-over: {lines:?}");
    assert!(runs.values().all(|replicas| replicas.len() == 1), "{runs:?}");
}
