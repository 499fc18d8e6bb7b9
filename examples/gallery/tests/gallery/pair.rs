//! Two processes over one bucket, as on any two hosts: they collapse into each other's reindex, and each follows the
//! other that stops or dies.
//!
//! They need an emulator of Cloud Storage, and run where `STORAGE_EMULATOR_HOST` names one. The hand-over after a crash
//! takes half a minute, and is waited for where `TAKO_TEST_SLOW` is set.

use std::time::Duration;

use axum::http::{Method, StatusCode};
use gallery::app::ReindexAnswer;
use gallery::client::Client;
use gallery::ledger::Ledger;
use gallery::locks::{HolderStatus, LockStatus};
use gallery::run::{Run, State};
use serde_json::json;
use tako::policy::{ATTEMPT, GUARD, POLL, TTL};
use tokio::time::{Instant, sleep, timeout};

use crate::program::{LIMIT, Service};

/// Longer than a test takes in all: what holds a lock at this pace does so until it is stopped.
const FOR_EVER: Duration = Duration::from_secs(10);

/// A project of a test's own, at the emulator, with the bucket that its leases are in by default.
struct Project {
    emulator: String,
    name: String,
}

impl Project {
    /// `None`: there is no emulator.
    async fn new(test: &str) -> Option<Project> {
        let emulator = std::env::var("STORAGE_EMULATOR_HOST").ok().filter(|host| !host.is_empty());
        let Some(emulator) = emulator else {
            eprintln!("skipped: STORAGE_EMULATOR_HOST is not set");
            return None;
        };
        // Buckets of an emulator outlive a test, and so does a lease in them for a while.
        let name = format!("demo-{test}-{}", std::process::id());
        let host = emulator.trim_start_matches("http://").trim_end_matches('/');
        let address = tokio::net::lookup_host(host).await.unwrap().find(std::net::SocketAddr::is_ipv4);
        let client = Client::new(address.unwrap());
        let bucket = json!({ "name": format!("{name}-tako") }).to_string();
        let path = format!("/storage/v1/b?project={name}");
        let made = client.send(Method::POST, &path, bucket.into());
        let (status, answer) = timeout(LIMIT, made).await.unwrap().unwrap();
        assert!(status.is_success() || status == StatusCode::CONFLICT, "{status}: {answer:?}");
        Some(Project { emulator, name })
    }

    async fn service(&self, env: &str, pace: Duration) -> Service {
        let environment = [
            ("STORAGE_EMULATOR_HOST", &*self.emulator),
            ("TAKO_ENV", env),
            ("TAKO_PROJECT", &self.name),
            ("TAKO_APP", "gallery"),
        ];
        Service::start(pace, &environment).await
    }
}

/// Who holds the lock of the reindex, as one of the processes sees it.
async fn holder(seen_by: &Service) -> Option<HolderStatus> {
    let locks: Vec<LockStatus> = seen_by.client.get("/locks").await.unwrap();
    locks.into_iter().find(|lock| lock.name == "reindex").unwrap().holder
}

async fn collapses(service: &Service, into: &Run) {
    let ledger = service.runs().await;
    let answered = timeout(LIMIT, service.reindex()).await.expect("it runs beside the other");
    let (status, answer) = answered.unwrap().unwrap();
    let told = String::from_utf8_lossy(&answer).into_owned();
    assert_eq!(status, StatusCode::ACCEPTED, "{told}");
    let answer: ReindexAnswer = serde_json::from_slice(&answer).unwrap();
    assert!(!answer.started, "{told}");
    assert_eq!(answer.run, None, "the run under way is in the other's ledger");
    assert_eq!(service.runs().await, ledger, "the ledger is unchanged");
    let holder = holder(service).await.expect("somebody holds it");
    assert_eq!((holder.fence, holder.is_expired), (into.fence, false));
}

#[tokio::test]
async fn two_processes_collapse_into_each_others_reindex_and_one_that_is_stopped_hands_over_at_once() {
    let Some(project) = Project::new("collapse").await else { return };
    let mut one = project.service("pr-42", FOR_EVER).await;
    let other = project.service("pr-42", FOR_EVER).await;
    let call = one.reindex();
    let run = one.run_under_way().await;
    collapses(&other, &run).await;

    one.terminate();

    let (status, _) = timeout(LIMIT, call).await.unwrap().unwrap().unwrap();
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    let (ended, told) = one.ended().await;
    assert!(ended.success(), "{ended}");
    assert_eq!(told, "stopped: every lock was given back\n");
    // Asked once: a lease that had to run out would refuse it.
    let _call = other.reindex();
    let next = other.run_under_way().await;
    assert!(next.fence > run.fence, "fences grow: {}, {}", run.fence, next.fence);
    let one = project.service("pr-42", FOR_EVER).await;
    collapses(&one, &next).await;
}

#[tokio::test]
async fn another_environment_does_not_contend() {
    let Some(project) = Project::new("environments").await else { return };
    let one = project.service("pr-42", FOR_EVER).await;
    let other = project.service("pr-43", FOR_EVER).await;
    let _call = one.reindex();
    one.run_under_way().await;
    assert!(holder(&other).await.is_none(), "another lock, though of the same name");

    let _call = other.reindex();

    other.run_under_way().await;
    assert_eq!(one.runs().await[0].state, State::Running, "both at once");
}

#[tokio::test]
async fn a_killed_process_is_followed_within_ttl_guard_and_poll() {
    if std::env::var_os("TAKO_TEST_SLOW").is_none() {
        eprintln!("skipped: TAKO_TEST_SLOW is not set");
        return;
    }
    let Some(project) = Project::new("crash").await else { return };
    let mut victim = project.service("pr-42", FOR_EVER).await;
    let heir = project.service("pr-42", Duration::ZERO).await;
    let _call = victim.reindex();
    let run = victim.run_under_way().await;
    collapses(&heir, &run).await;
    let granted = holder(&heir).await.unwrap().expires;
    let heartbeat = async {
        while holder(&heir).await.unwrap().expires == granted {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(LIMIT, heartbeat).await.expect("no heartbeat");

    victim.kill().await;

    let killed = Instant::now();
    // The look that comes upon the dead record, and the claim, are requests.
    let most = TTL + GUARD + POLL * 5 / 4 + ATTEMPT * 2;
    let (waited, answer) = loop {
        let (status, answer) = timeout(LIMIT, heir.reindex()).await.unwrap().unwrap().unwrap();
        assert!(status.is_success(), "{status}: {answer:?}");
        let answer: ReindexAnswer = serde_json::from_slice(&answer).unwrap();
        let waited = killed.elapsed();
        if answer.started {
            break (waited, answer);
        }
        assert!(waited <= most, "not handed over {waited:?} after the kill");
        sleep(POLL).await;
    };
    eprintln!("handed over {waited:?} after the kill, under a TTL of {TTL:?}");
    assert!(waited <= most, "handed over {waited:?} after the kill");
    // When it was killed, its last heartbeat had been sent as long ago as a request takes.
    assert!(
        waited + ATTEMPT >= TTL + GUARD,
        "handed over {waited:?} after the kill, from a lease that was still good"
    );
    let next = answer.run.expect("it was started here");
    assert_eq!(next.state, State::Finished);
    assert!(next.fence > run.fence, "fences grow: {}, {}", run.fence, next.fence);
    assert_eq!(heir.runs().await, [next]);
    let left = Ledger::open(&victim.database).unwrap().runs().await.unwrap().remove(0);
    assert_eq!((left.id, left.state), (run.id, State::Running), "it died in the middle of it");
}
