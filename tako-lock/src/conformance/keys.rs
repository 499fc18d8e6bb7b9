//! One record a key.

use super::trial::{Trial, show};
use super::violation::contract;
use super::{Pace, Violation};
use crate::backend::LeaseBackend;

/// The longest path that the engine makes: every part of 64 characters, half of them hyphens that it doubles, and a
/// cron lease's prefix.
const LONGEST: usize = 272;

/// Records at keys that look alike stand side by side: a beginning of another, doubled hyphens, the dot of cron
/// leases (also before an ending such as a store may want for files of its own), and paths of the greatest length
/// that differ at the very end.
pub async fn keys_do_not_influence_each_other(
    backend: &impl LeaseBackend,
    pace: Pace,
) -> Result<(), Violation> {
    let trial = Trial::new("keys_do_not_influence_each_other", backend, pace);
    let filling = "a".repeat(LONGEST - 1 - trial.key_like("").path().len());
    let (long_a, long_b) = (format!("{filling}a"), format!("{filling}b"));
    let ends =
        ["", "a", "-a", "--a", "-a-b", "-a--b", "--a-b", ".a", ".lock", ".tmp", ".json", &long_a, &long_b];
    let keys = ends.map(|end| trial.key_like(end));

    let mut written = Vec::new();
    for (number, key) in (1..).zip(&keys) {
        if let Some(stored) = trial.load(key).await? {
            let found = format_args!("{} has a record before it was written: {}", key.path(), show(&stored));
            return Err(trial.broken(contract::KEYS, found));
        }
        let record = trial.record(key, number);
        let token = trial.apply(key, None, &record).await?;
        written.push((key, record, token));
    }
    // Each is changed once on the token that it had before the others were written, then all are read.
    for (number, (key, record, token)) in (100..).zip(&mut written) {
        *record = trial.record(key, number);
        *token = trial.apply(key, Some(token), record).await?;
    }
    for (key, record, token) in &written {
        let stored = trial.load_some(key).await?;
        if stored.record != *record || stored.token != *token {
            let found = format_args!(
                "at {} fence {} with token {token} was written last, and ({}) was read",
                key.path(),
                record.fence,
                show(&stored)
            );
            return Err(trial.broken(contract::KEYS, found));
        }
    }
    Ok(())
}
