//! Both forms over Google Cloud Storage's double, on real clocks: so with ticks that are told rather than waited for.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use tako::LockError;
use tako::backend::Record;
use tako::cron::{CronConfig, Observer, Outcome, Tick};
use tako::prelude::{Cron, cron};
use tako_lock_tests::gcs_double::{Bucket, Fault, Kind};
use tako_lock_tests::gcs_engine::{SHORT, engine};
use tako_lock_tests::gcs_server::DOUBLE;
use tokio::task::JoinSet;

use crate::stage::{singleflight, singleton};

/// A tick each second.
static SECONDLY: Cron = cron!("secondly", "* * * * * *");

const RUN: Duration = Duration::from_secs(6);

#[derive(Clone, Default)]
struct Ledger {
    ran: Arc<Mutex<Vec<(String, Tick)>>>,
    inside: Arc<AtomicUsize>,
    passed: Arc<AtomicUsize>,
}

impl Ledger {
    async fn work(&self, who: &str, tick: Tick) -> Result<(), LockError> {
        assert_eq!(self.inside.fetch_add(1, Ordering::SeqCst), 0, "two at once");
        {
            let mut ran = self.ran.lock().unwrap_or_else(PoisonError::into_inner);
            assert!(
                ran.iter().all(|(_, earlier)| earlier.scheduled != tick.scheduled),
                "twice: {tick:?} in {ran:?}"
            );
            ran.push((who.into(), tick));
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
        self.inside.fetch_sub(1, Ordering::SeqCst);
        Ok(())
    }

    fn ran(&self) -> Vec<(String, Tick)> {
        self.ran.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The record of the cron, as it stands in the bucket.
fn stored(bucket: &Bucket) -> Option<Record> {
    let written =
        bucket.history().into_iter().rev().find(|entry| entry.made.is_some() && entry.kind != Kind::Clock);
    written.and_then(|entry| entry.record)
}

async fn play(name: &str, config: CronConfig, trouble: impl Fn(&Bucket)) -> Ledger {
    let bucket = DOUBLE.bucket(name);
    let mut processes = Vec::new();
    for label in ["P1", "P2", "P3"] {
        processes.push((label, engine(&DOUBLE.endpoint(), name, label, SHORT).await));
    }
    bucket.forget();
    trouble(&bucket);
    let ledger = Ledger::default();
    let mut running = JoinSet::new();
    for (label, engine) in &processes {
        let passed = ledger.passed.clone();
        let observer = Observer::new(move |report| {
            if matches!(report.outcome, Outcome::Claimed { .. } | Outcome::Running { .. }) {
                passed.fetch_add(1, Ordering::Relaxed);
            }
        });
        let (ctx, ledger) = (engine.ctx().with_timeout(RUN), ledger.clone());
        let config = CronConfig { observer: Some(observer), ..config.clone() };
        let label = (*label).to_owned();
        running.spawn(async move {
            SECONDLY.run(&ctx, config, async |_, tick| ledger.work(&label, tick).await).await
        });
    }
    for ended in running.join_all().await {
        ended.expect("to the end of its context");
    }
    for (_, engine) in processes {
        assert!(engine.shutdown(SHORT.ttl).await.is_clean());
    }
    let ran = ledger.ran();
    println!("{name}: {} ticks ran, {} were passed over", ran.len(), ledger.passed.load(Ordering::Relaxed));
    let last = ran.iter().map(|(_, tick)| tick.scheduled).max();
    let record = stored(&bucket).expect("a record");
    assert!(record.is_released());
    assert!(record.mark.map(SystemTime::from) >= last, "the mark went with the release: {record:?}");
    ledger
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_tick_runs_once_over_the_double() {
    let ledger = play("cron-singleflight", singleflight(), |_| ()).await;
    assert!(ledger.ran().len() >= 3, "{:?}", ledger.ran());
    assert!(ledger.passed.load(Ordering::Relaxed) >= 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_instance_runs_all_ticks_over_the_double() {
    let ledger = play("cron-singleton", singleton(), |_| ()).await;
    let ran = ledger.ran();
    assert!(ran.len() >= 3, "{ran:?}");
    assert!(ran.windows(2).all(|pair| pair[0].0 == pair[1].0), "{ran:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ambiguous_answers_make_no_tick_run_twice() {
    let ledger = play("cron-trouble", singleflight(), |bucket| {
        for number in 0..30 {
            let fault = match number % 3 {
                0 => Fault::StatusOnceDone(412, "conditionNotMet"),
                1 => Fault::ResetOnceDone,
                _ => Fault::StatusOnceDone(503, "backendError"),
            };
            bucket.on(Kind::Claim, number..number + 1, fault);
        }
    })
    .await;
    assert!(!ledger.ran().is_empty());
}
