//! What the locks promise, seen through the service.

use std::time::Duration;

use axum::http::StatusCode;
use gallery::locks::LockStatus;
use gallery::run::{Kind, State, overlapping};
use gallery::serve::serve;
use serde_json::Value;
use tako::backend::{Key, MemoryLease};
use tako::prelude::*;
use tako::{Engine, LeftToLapse, LockError};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::{House, a_picture, told};

/// The very locks that the service takes: the name is the identity.
static REINDEX: Lock = lock!("reindex");
static IMPORT: Lock = lock!("import");

/// Holds a lock until the sender is dropped.
async fn occupy(house: &House, lock: &'static Lock) -> oneshot::Sender<()> {
    let (release, released) = oneshot::channel::<()>();
    let (held, holding) = oneshot::channel();
    let ctx = house.gallery.engine.ctx();
    tokio::spawn(async move {
        lock.run(&ctx, async |_ctx| {
            held.send(()).unwrap();
            drop(released.await);
            Ok::<_, LockError>(())
        })
        .await
    });
    holding.await.unwrap();
    release
}

#[tokio::test(start_paused = true)]
async fn reindex_collapses_while_held() {
    let house = House::new();
    house.post("/reindex").await;
    let ledger = house.runs().await;
    let release = occupy(&house, &REINDEX).await;

    let (status, answer) = house.post("/reindex").await;

    assert_eq!(status, StatusCode::ACCEPTED);
    assert_eq!(answer["started"], false);
    assert_eq!(answer["run"], Value::Null, "nobody has written a run down");
    assert_eq!(house.runs().await, ledger, "the ledger is unchanged");

    drop(release);
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(house.post("/reindex").await.1["started"], true, "free again");
}

#[tokio::test(start_paused = true)]
async fn a_collapsed_reindex_is_told_of_the_run_under_way() {
    let house = House::slow(Duration::from_secs(1));
    let first = tokio::spawn({
        let house = house.clone();
        async move { house.post("/reindex").await }
    });
    let run = house.run_under_way().await;

    let (status, answer) = house.post("/reindex").await;

    assert_eq!(status, StatusCode::ACCEPTED);
    assert_eq!(answer["started"], false);
    assert_eq!(answer["run"]["id"], run.id);
    assert_eq!(answer["run"]["state"], "running");
    assert_eq!(answer["run"]["total"], 3);
    let (status, answer) = first.await.unwrap();
    assert_eq!((status, &answer["started"]), (StatusCode::OK, &Value::Bool(true)));
    assert_eq!((&answer["run"]["state"], &answer["run"]["done"]), (&"finished".into(), &3.into()));
}

#[tokio::test(start_paused = true)]
async fn of_each_wave_exactly_one_starts_and_runs_never_overlap() {
    let house = House::slow(Duration::from_secs(1));
    for wave in 1..=3 {
        let calls: Vec<_> = (0..8)
            .map(|_| house.clone())
            .map(|house| tokio::spawn(async move { house.post("/reindex").await.1 }))
            .collect();
        let mut started = 0;
        for call in calls {
            started += usize::from(call.await.unwrap()["started"] == true);
        }
        assert_eq!(started, 1, "in wave {wave}");
    }
    let runs = house.runs().await;
    assert_eq!(runs.len(), 3);
    assert!(runs.iter().all(|run| run.state == State::Finished));
    assert_eq!(overlapping(&runs), None);
}

#[tokio::test(start_paused = true)]
async fn imports_queue_and_run_one_after_the_other() {
    let house = House::slow(Duration::from_secs(1));
    let import = |name: &'static str| {
        let house = house.clone();
        tokio::spawn(async move { house.import(name, a_picture()).await.0 })
    };
    let (one, other) = (import("one.png"), import("other.png"));
    assert_eq!((one.await.unwrap(), other.await.unwrap()), (StatusCode::OK, StatusCode::OK));

    let runs = house.runs().await;
    assert_eq!(runs.len(), 2);
    assert!(runs.iter().all(|run| run.kind == Kind::Import && run.state == State::Finished));
    assert_eq!(overlapping(&runs), None);
}

#[tokio::test(start_paused = true)]
async fn an_import_does_not_wait_for_ever() {
    let house = House::new();
    let _release = occupy(&house, &IMPORT).await;
    let (status, answer) = house.import("late.png", a_picture()).await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(
        told(&answer).starts_with("lock \"import\" was not taken: the context's time limit has passed"),
        "{answer}"
    );
    assert_eq!(house.runs().await, []);
    assert!(!house.photos().join("imported").exists());
}

#[tokio::test(start_paused = true)]
async fn a_run_outlives_the_request_that_started_it() {
    let house = House::slow(Duration::from_secs(1));
    let hung_up = tokio::time::timeout(Duration::from_millis(500), house.post("/reindex")).await;
    assert!(hung_up.is_err());
    house.run_under_way().await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(house.runs().await[0].state, State::Finished);
}

#[tokio::test(start_paused = true)]
async fn a_lost_lease_stops_the_run_and_its_caller_is_told() {
    let table = MemoryLease::new();
    let engine =
        Engine::builder(table.clone()).app("gallery").env("test").on_callers_runtime().build().unwrap();
    let house = House::on(engine, Duration::from_secs(20));
    let call = tokio::spawn({
        let house = house.clone();
        async move { house.post("/reindex").await }
    });
    let run = house.run_under_way().await;

    assert!(table.remove(&Key::new("leases/run-gallery-test-reindex", "gallery/test/reindex")));

    let (status, answer) = call.await.unwrap();
    assert_eq!(status, StatusCode::CONFLICT);
    assert!(told(&answer).starts_with("lease \"reindex\" was lost while held"), "{answer}");
    assert!(told(&answer).contains("<- the record was removed"), "{answer}");
    let lost = house.runs().await.remove(0);
    assert_eq!((lost.id, lost.state), (run.id, State::Failed));
    assert_eq!(house.get::<Vec<Value>>("/photos").await, Vec::<Value>::new());
}

#[tokio::test(start_paused = true)]
async fn locks_are_listed_with_who_holds_them() {
    let house = House::new();
    let reindex = async || {
        let mut locks = house.get::<Vec<LockStatus>>("/locks").await;
        assert_eq!(locks.iter().map(|lock| &*lock.name).collect::<Vec<_>>(), ["import", "reindex"]);
        assert!(locks[0].holder.is_none());
        locks.remove(1)
    };
    let free = reindex().await;
    assert!(free.holder.is_none());
    assert_eq!(free.declared.len(), 2, "the service's declaration and the test's: {:?}", free.declared);

    let _release = occupy(&house, &REINDEX).await;
    let holder = reindex().await.holder.unwrap();
    assert!(holder.owner.ends_with(&std::process::id().to_string()), "{holder:?}");
    assert!(holder.fence > 0 && !holder.is_expired, "{holder:?}");
    assert!(holder.expires.ends_with('Z'), "{holder:?}");
}

#[tokio::test]
async fn shutdown_lets_the_run_end_and_refuses_others() {
    let house = House::slow(Duration::from_millis(200));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let stopped = async { drop(stopped.await) };
    let server = tokio::spawn(serve(listener, house.gallery.clone(), stopped, Duration::from_secs(10)));
    let call = tokio::spawn({
        let house = house.clone();
        async move { house.post("/reindex").await }
    });
    house.run_under_way().await;

    drop(stop);

    assert!(server.await.unwrap().unwrap().is_clean());
    let (status, answer) = call.await.unwrap();
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(told(&answer).contains("the engine is shutting down"), "{answer}");
    let run = house.runs().await.remove(0);
    assert_eq!(run.state, State::Failed);
    assert!(run.done < 3, "it stopped between two pictures: {run:?}");
    assert_eq!(house.gallery.engine.inspect("reindex").await.unwrap(), None, "given back");
    let (status, answer) = house.import("late.png", a_picture()).await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(told(&answer).contains("its engine has been shutting down"), "{answer}");
}

#[tokio::test]
async fn what_does_not_end_in_time_is_left_to_lapse_and_named() {
    let house = House::new();
    let _release = occupy(&house, &REINDEX).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let shutdown = serve(listener, house.gallery.clone(), async {}, Duration::from_millis(20)).await.unwrap();
    let left: Vec<&str> = shutdown.left_to_lapse().iter().map(LeftToLapse::lock).collect();
    assert_eq!(left, ["reindex"]);
    let holder = house.gallery.engine.inspect("reindex").await.unwrap().unwrap();
    assert!(!holder.is_expired, "nobody else may start before its expiry");
}
