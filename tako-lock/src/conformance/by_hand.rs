//! Properties that need more than one backend value, so that no macro can set them up.

use super::trial::{Trial, show};
use super::violation::contract;
use super::{CLOCK_TOLERANCE, Pace, Violation};
use crate::backend::{ErrorKind, Key, LeaseBackend, Swap};

/// Two values over one store, as two instances of an app have them, see each other's writes at once, exclude each
/// other, and are told one time. Not part of [`suite!`](super::suite), which does not know how to make two: call it from a test of your
/// own, with two connections to one database, two clients of one bucket, two clones of one table.
///
/// # Examples
/// ```
/// use tako::backend::MemoryLease;
/// use tako::conformance::{self, Pace, Violation};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Violation> {
/// let table = MemoryLease::new();
/// conformance::two_instances_share_one_store(&table, &table.clone(), Pace::FULL).await?;
/// # Ok(()) }
/// ```
pub async fn two_instances_share_one_store(
    here: &impl LeaseBackend,
    there: &impl LeaseBackend,
    pace: Pace,
) -> Result<(), Violation> {
    const NAME: &str = "two_instances_share_one_store";
    let (here, there) = (Trial::new(NAME, here, pace), Trial::new(NAME, there, pace));
    let key = here.key();
    // Both have looked, so either could have remembered.
    let mut token = here.apply(&key, None, &here.record(&key, 1)).await?;
    let seen = there.load_some(&key).await?;
    here.load_some(&key).await?;
    if seen.token != token {
        let found = format_args!("one instance wrote token {token}, the other read ({})", show(&seen));
        return Err(there.broken(contract::READS, found));
    }
    for number in (2..6).step_by(2) {
        there.pause(pace.gap).await;
        let theirs = there.record(&key, number);
        let fresh = there.apply(&key, Some(&token), &theirs).await?;
        let seen = here.load_some(&key).await?;
        if seen.record != theirs || seen.token != fresh {
            let found = format_args!("after the other instance's write of fence {number}: {}", show(&seen));
            return Err(here.broken(contract::READS, found));
        }
        here.pause(pace.gap).await;
        let why = "a swap on a token that the other instance's write had made stale";
        here.refuse(&key, Some(&token), &here.record(&key, number + 1), why).await?;
        token = here.apply(&key, Some(&fresh), &here.record(&key, number + 1)).await?;
        there.load_some(&key).await?;
    }
    let (before, between, after) = (here.now().await?, there.now().await?, here.now().await?);
    if between.plus(CLOCK_TOLERANCE) < before || between > after.plus(CLOCK_TOLERANCE) {
        let found = format_args!("it is {between} there between {before} and {after} here");
        return Err(here.broken(contract::CLOCK, found));
    }
    Ok(())
}

/// Something that is not a record, which you have put at `key` by other means, loads as [`ErrorKind::Corrupt`], and
/// a swap that expects nothing does not replace it: what cannot be read is never free. Not part of
/// [`suite!`](super::suite), which cannot put it there.
pub async fn a_foreign_body_is_corrupt(
    backend: &impl LeaseBackend,
    key: &Key,
    pace: Pace,
) -> Result<(), Violation> {
    let trial = Trial::new("a_foreign_body_is_corrupt", backend, pace);
    let is_corrupt = |violation: &Violation| violation.kind() == Some(ErrorKind::Corrupt);
    for _ in 0..2 {
        match trial.load(key).await {
            Err(violation) if is_corrupt(&violation) => {}
            Err(violation) => return Err(violation),
            Ok(stored) => {
                let stored = stored.as_ref().map_or_else(|| "none".into(), show);
                return Err(trial.broken(contract::CORRUPT, format_args!("it was loaded as {stored}")));
            }
        }
        match trial.swap(key, None, &trial.record(key, 1)).await {
            Ok(Swap::Refused) => {}
            Err(violation) if is_corrupt(&violation) => {}
            Err(violation) => return Err(violation),
            Ok(Swap::Applied { token, .. }) => {
                let found = format_args!("a creation replaced it, with token {token}");
                return Err(trial.broken(contract::EXPECTED, found));
            }
        }
    }
    Ok(())
}
