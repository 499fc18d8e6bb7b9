//! Records come back as they were written. Each sample has a key of its own, so that no pace slows them down.

use std::sync::Arc;

use super::trial::Trial;
use super::violation::contract;
use super::{Pace, Violation};
use crate::backend::{Fence, Key, LeaseBackend, Owner, Record, StoreTime};

/// Owners come back to the letter: quotes, other scripts, and as many bytes as the engine makes.
pub async fn every_owner_comes_back_exactly(
    backend: &impl LeaseBackend,
    pace: Pace,
) -> Result<(), Violation> {
    let trial = Trial::new("every_owner_comes_back_exactly", backend, pace);
    let longest = format!("{}#{}", "w".repeat(95), "0123456789abcdef".repeat(2));
    let owners = [
        "web-7f#5f0c",
        "\"quoted\" 'single' `back` \\ %s {} $1 #a#b",
        "\u{1F419} \u{043E}\u{0441}\u{044C}\u{043C}\u{0438}\u{043D}\u{043E}\u{0433} cafe\u{301} caf\u{e9}#1",
        " spaces at both ends ",
        "Case#AB",
        &longest,
    ];
    for (key, owner) in owners.map(|owner| (trial.key(), owner)) {
        comes_back(&trial, &key, Record { owner: Owner::new(owner), ..trial.record(&key, 1) }).await?;
    }
    Ok(())
}

/// Every fence comes back, those that are no `i64` and those that no `f64` can tell apart included.
pub async fn every_fence_comes_back_exactly(
    backend: &impl LeaseBackend,
    pace: Pace,
) -> Result<(), Violation> {
    let trial = Trial::new("every_fence_comes_back_exactly", backend, pace);
    let fences = [0, 1, 1_764_590_430_125, (1 << 53) + 1, i64::MAX.unsigned_abs(), (1 << 63) + 1, u64::MAX];
    for (key, fence) in fences.map(|fence| (trial.key(), fence)) {
        comes_back(&trial, &key, Record { fence: Fence::new(fence), ..trial.record(&key, 1) }).await?;
    }
    Ok(())
}

/// Every end comes back to the millisecond, from [`StoreTime::RELEASED`] to [`StoreTime::MAX`].
pub async fn every_expiry_comes_back_exactly(
    backend: &impl LeaseBackend,
    pace: Pace,
) -> Result<(), Violation> {
    let trial = Trial::new("every_expiry_comes_back_exactly", backend, pace);
    let times = [0, 1, 1_796_126_430_000, 1_796_126_430_125, StoreTime::MAX.as_millis()];
    for (key, millis) in times.map(|millis| (trial.key(), millis)) {
        let expires = StoreTime::from_millis(millis);
        comes_back(&trial, &key, Record { expires, ..trial.record(&key, 1) }).await?;
    }
    Ok(())
}

/// The identity comes back as it stands in the record, also where it is not the key's: the engine refuses a foreign
/// record at its path, and can do so only if it gets to see whose it is.
pub async fn every_identity_comes_back_exactly(
    backend: &impl LeaseBackend,
    pace: Pace,
) -> Result<(), Violation> {
    let trial = Trial::new("every_identity_comes_back_exactly", backend, pace);
    let longest = ["a", "e", "n"].map(|part| part.repeat(64)).join("/");
    for (key, lock) in ["other/prod/foreign", &longest].map(|lock| (trial.key(), lock)) {
        comes_back(&trial, &key, Record { lock: Arc::from(lock), ..trial.record(&key, 1) }).await?;
    }
    Ok(())
}

/// Marks come back to the millisecond, and no mark as none: a tick whose mark is lost would run twice.
pub async fn every_mark_comes_back_exactly(backend: &impl LeaseBackend, pace: Pace) -> Result<(), Violation> {
    let trial = Trial::new("every_mark_comes_back_exactly", backend, pace);
    let marks = [None, Some(0), Some(1_796_126_400_000), Some(1_796_126_400_125)];
    for (key, mark) in marks.map(|mark| (trial.key(), mark.map(StoreTime::from_millis))) {
        comes_back(&trial, &key, Record { mark, ..trial.record(&key, 1) }).await?;
    }
    Ok(())
}

/// Fields that this version does not know come back, nested ones and large numbers included: an older instance must
/// not erase what a newer one has written.
pub async fn unknown_fields_come_back(backend: &impl LeaseBackend, pace: Pace) -> Result<(), Violation> {
    let trial = Trial::new("unknown_fields_come_back", backend, pace);
    let key = trial.key();
    let mut record = trial.record(&key, 1);
    let nested = serde_json::json!({
        "tick": "2026-12-01T12:00:00Z",
        "list": [1, -2, 2.5, null, true, [], {}, "\u{1F419} \"quoted\""],
        "deeper": { "deepest": { "count": u64::MAX, "least": i64::MIN } },
    });
    record.extra =
        [("news".to_owned(), nested), ("z \u{e9}".to_owned(), serde_json::Value::Null)].into_iter().collect();
    comes_back(&trial, &key, record).await
}

async fn comes_back<B: LeaseBackend>(
    trial: &Trial<'_, B>,
    key: &Key,
    record: Record,
) -> Result<(), Violation> {
    trial.apply(key, None, &record).await?;
    let stored = trial.load_some(key).await?;
    if stored.record == record {
        return Ok(());
    }
    let found = format_args!("\n  written: {record:?}\n  read:    {:?}", stored.record);
    Err(trial.broken(contract::WHOLE, found))
}
