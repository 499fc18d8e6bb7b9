//! The fence: what the ledger keeps out when a lock could not.

use gallery::index::{Content, Photo};
use gallery::ledger::{Change, Ledger, LedgerError};
use gallery::run::{Kind, State};

fn ledger() -> (Ledger, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    (Ledger::open(&folder.path().join("ledger.redb")).unwrap(), folder)
}

fn change(path: &str) -> Change {
    let content = Content::Broken { error: "for a test".to_owned() };
    Change { found: vec![Photo { path: path.to_owned(), content }], ..Change::default() }
}

/// The story of the module's documentation: a run stalls, another takes over, the first wakes up.
#[tokio::test]
async fn a_stale_fence_is_refused_and_changes_nothing() {
    let (ledger, _folder) = ledger();
    let stalled = ledger.begin(Kind::Reindex, 7).await.unwrap();
    let later = ledger.begin(Kind::Reindex, 8).await.unwrap();
    ledger.finish(&later, change("of-the-later-run.png")).await.unwrap();
    let runs = ledger.runs().await.unwrap();

    let refused = ledger.finish(&stalled, change("of-the-stalled-run.png")).await.unwrap_err();

    assert!(
        matches!(refused, LedgerError::StaleFence { lock: "reindex", fence: 7, highest: 8 }),
        "{refused}"
    );
    assert!(ledger.progress(&stalled, 1, 1).await.is_err());
    assert!(ledger.fail(&stalled, "late".to_owned()).await.is_err());
    assert!(ledger.begin(Kind::Reindex, 7).await.is_err());
    assert_eq!(ledger.runs().await.unwrap(), runs);
    let photos: Vec<String> = ledger.photos().await.unwrap().into_iter().map(|photo| photo.path).collect();
    assert_eq!(photos, ["of-the-later-run.png"]);
}

#[tokio::test]
async fn fences_of_different_locks_are_not_compared() {
    let (ledger, _folder) = ledger();
    ledger.begin(Kind::Reindex, 1_000).await.unwrap();
    let import = ledger.begin(Kind::Import, 1).await.unwrap();
    assert_eq!(ledger.finish(&import, Change::default()).await.unwrap().state, State::Finished);
}

#[tokio::test]
async fn the_highest_fence_is_remembered_by_the_file() {
    let (ledger, folder) = ledger();
    let crashed = ledger.begin(Kind::Reindex, 7).await.unwrap();
    drop(ledger);

    let ledger = Ledger::open(&folder.path().join("ledger.redb")).unwrap();

    assert!(matches!(ledger.begin(Kind::Reindex, 6).await, Err(LedgerError::StaleFence { highest: 7, .. })));
    assert_eq!(ledger.runs().await.unwrap(), [crashed]);
}

#[tokio::test]
async fn a_run_that_never_came_back_is_abandoned_by_the_next_of_its_kind() {
    let (ledger, _folder) = ledger();
    let crashed = ledger.begin(Kind::Reindex, 7).await.unwrap();
    ledger.begin(Kind::Import, 1).await.unwrap();
    ledger.begin(Kind::Import, 2).await.unwrap();
    assert_eq!(ledger.running(Kind::Reindex).await.unwrap(), Some(crashed), "imports say nothing about it");

    let next = ledger.begin(Kind::Reindex, 8).await.unwrap();

    assert_eq!(ledger.running(Kind::Reindex).await.unwrap(), Some(next));
    let states: Vec<State> = ledger.runs().await.unwrap().iter().rev().map(|run| run.state).collect();
    assert_eq!(states, [State::Abandoned, State::Abandoned, State::Running, State::Running]);
}

#[test]
fn a_second_process_cannot_open_it() {
    let (_ledger, folder) = ledger();
    let error = Ledger::open(&folder.path().join("ledger.redb")).unwrap_err();
    assert!(matches!(error, LedgerError::Database(_)), "{error}");
}
