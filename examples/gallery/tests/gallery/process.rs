//! One process: the demonstration, a signal, and what it refuses to start with.

use std::process::Output;
use std::time::Duration;

use axum::http::StatusCode;
use gallery::ledger::Ledger;
use gallery::run::{Run, State};
use tokio::time::timeout;

use crate::program::{LIMIT, Service, gallery};

async fn output(arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    timeout(LIMIT, gallery(arguments, environment).output()).await.expect("it did not end").unwrap()
}

#[tokio::test]
async fn the_demonstration_holds_what_it_promises() {
    let output = output(&["demo"], &[]).await;
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}\n{}", String::from_utf8_lossy(&output.stderr));
    for line in [
        "meanwhile, \"reindex\" is held by",
        "wave 3: started ",
        "harbour-4.png came in by run",
        "land/hills.png           png    72 x 48 ",
        "the caller is told 503 Service Unavailable",
        "no two runs of a job overlapped, and every run has a higher fence than the one before it",
    ] {
        assert!(told.contains(line), "`{line}` is missing in:\n{told}");
    }
}

#[tokio::test]
async fn sigterm_drains() {
    let mut service = Service::start(Duration::from_millis(250), &[]).await;
    let call = service.reindex();
    service.run_under_way().await;

    service.terminate();

    let (status, answer) = timeout(LIMIT, call).await.unwrap().unwrap().unwrap();
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(String::from_utf8_lossy(&answer).contains("the engine is shutting down"));
    let (ended, told) = service.ended().await;
    assert!(ended.success(), "{ended}");
    assert_eq!(told, "stopped: every lock was given back\n");
    let run = Ledger::open(&service.database).unwrap().runs().await.unwrap().remove(0);
    assert_eq!(run.state, State::Failed);
    assert!(service.client.get::<Vec<Run>>("/runs").await.is_err(), "nobody listens any more");
}

#[tokio::test]
async fn a_folder_that_is_not_there_is_named_with_its_flag() {
    let output = output(&["--photos", "no/such/folder"], &[]).await;
    assert!(!output.status.success());
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("`--photos no/such/folder` is not a folder"), "{told}");
}

/// Never leases in memory instead: each instance would have its own.
#[cfg(not(feature = "gcs"))]
#[tokio::test]
async fn without_the_cloud_an_environment_that_asks_for_it_is_refused_and_the_feature_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("ledger.redb");
    let environment = [
        ("STORAGE_EMULATOR_HOST", "127.0.0.1:9"),
        ("TAKO_ENV", "pr-42"),
        ("TAKO_PROJECT", "demo"),
        ("TAKO_APP", "gallery"),
    ];
    let output = output(&["--port", "0", "--database", database.to_str().unwrap()], &environment).await;
    assert!(!output.status.success());
    assert!(output.stdout.is_empty(), "it never listened");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("TAKO_ENV=pr-42 asks for leases in Google Cloud Storage"), "{told}");
    assert!(told.contains("Enable the feature `gcs`"), "{told}");
}
