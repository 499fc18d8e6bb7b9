//! What a swap does, and what it leaves alone.

use super::trial::{Trial, show};
use super::violation::contract;
use super::{Pace, Violation};
use crate::backend::{Fence, LeaseBackend, StoreTime};

/// A load of a key that was never written answers `None`; it is no error.
pub async fn an_absent_key_loads_none(backend: &impl LeaseBackend, pace: Pace) -> Result<(), Violation> {
    let trial = Trial::new("an_absent_key_loads_none", backend, pace);
    match trial.load(&trial.key()).await? {
        None => Ok(()),
        Some(stored) => {
            Err(trial.broken(contract::ABSENT, format_args!("a record was there: {}", show(&stored))))
        }
    }
}

/// A swap that expects nothing is applied on an absent key, and refused ever after.
pub async fn a_record_is_created_once(backend: &impl LeaseBackend, pace: Pace) -> Result<(), Violation> {
    let trial = Trial::new("a_record_is_created_once", backend, pace);
    let key = trial.key();
    let token = trial.apply(&key, None, &trial.record(&key, 1)).await?;
    let why = "a second creation of the same record";
    trial.refuse(&key, None, &trial.record(&key, 2), why).await?;
    trial.apply(&key, Some(&token), &trial.record(&key, 3)).await?;
    trial.refuse(&key, None, &trial.record(&key, 4), why).await
}

/// A swap that expects the stored token is applied, however often. A store that says no to everything is safe and
/// of no use.
pub async fn a_swap_on_the_current_token_is_applied(
    backend: &impl LeaseBackend,
    pace: Pace,
) -> Result<(), Violation> {
    let trial = Trial::new("a_swap_on_the_current_token_is_applied", backend, pace);
    let key = trial.key();
    let mut token = None;
    for number in 0..trial.pace.writes().min(20) {
        token = Some(trial.apply(&key, token.as_ref(), &trial.record(&key, number)).await?);
    }
    Ok(())
}

/// A swap that expects any earlier token is refused.
pub async fn a_stale_token_is_refused(backend: &impl LeaseBackend, pace: Pace) -> Result<(), Violation> {
    let trial = Trial::new("a_stale_token_is_refused", backend, pace);
    let key = trial.key();
    let first = trial.apply(&key, None, &trial.record(&key, 1)).await?;
    let second = trial.apply(&key, Some(&first), &trial.record(&key, 2)).await?;
    trial.refuse(&key, Some(&first), &trial.record(&key, 3), "a swap on a stale token").await?;
    trial.apply(&key, Some(&second), &trial.record(&key, 4)).await?;
    trial.refuse(&key, Some(&first), &trial.record(&key, 5), "a swap on the token before the last").await?;
    trial.refuse(&key, Some(&second), &trial.record(&key, 6), "a swap on a stale token").await
}

/// A swap that expects a token on an absent key is refused: a record that an operator removed stays removed until
/// somebody means to create it.
pub async fn expecting_a_token_does_not_create(
    backend: &impl LeaseBackend,
    pace: Pace,
) -> Result<(), Violation> {
    let trial = Trial::new("expecting_a_token_does_not_create", backend, pace);
    let (key, absent) = (trial.key(), trial.key());
    // A token of this store's making: what it takes for a token is its own business.
    let token = trial.apply(&key, None, &trial.record(&key, 1)).await?;
    let why = "a swap that expects a token where nothing is stored";
    trial.refuse(&absent, Some(&token), &trial.record(&absent, 2), why).await?;
    match trial.load(&absent).await? {
        None => Ok(()),
        Some(stored) => {
            let found = format_args!("the refused swap made a record: {}", show(&stored));
            Err(trial.broken(contract::ATOMIC, found))
        }
    }
}

/// After a refusal of either sort the record and its token are what they were, and the token is good for a swap.
pub async fn a_refused_swap_changes_nothing(
    backend: &impl LeaseBackend,
    pace: Pace,
) -> Result<(), Violation> {
    let trial = Trial::new("a_refused_swap_changes_nothing", backend, pace);
    let key = trial.key();
    let stale = trial.apply(&key, None, &trial.record(&key, 1)).await?;
    let mut token = trial.apply(&key, Some(&stale), &trial.record(&key, 2)).await?;
    for (number, expected) in [(3, Some(&stale)), (5, None)] {
        let before = trial.load_some(&key).await?;
        trial.refuse(&key, expected, &trial.record(&key, number), "a swap that had to be refused").await?;
        let after = trial.load_some(&key).await?;
        if after != before {
            let found = format_args!("a refusal turned ({}) into ({})", show(&before), show(&after));
            return Err(trial.broken(contract::ATOMIC, found));
        }
        token = trial.apply(&key, Some(&token), &trial.record(&key, number + 1)).await?;
    }
    Ok(())
}

/// A record that has been given back, or that expired long ago, is stored like any other: it loads with its fence,
/// is not created over, and is changed on its token only.
pub async fn a_released_record_is_still_there(
    backend: &impl LeaseBackend,
    pace: Pace,
) -> Result<(), Violation> {
    let trial = Trial::new("a_released_record_is_still_there", backend, pace);
    let key = trial.key();
    let mut token = trial.apply(&key, None, &trial.record(&key, 1)).await?;
    for (number, expires) in [(2, StoreTime::RELEASED), (3, StoreTime::from_millis(1))] {
        let mut record = trial.record(&key, number);
        record.expires = expires;
        token = trial.apply(&key, Some(&token), &record).await?;
        let Some(stored) = trial.load(&key).await? else {
            let found = format_args!("a record that ended at {expires} loads as none");
            return Err(trial.broken(contract::STATELESS, found));
        };
        if stored.record.fence != Fence::new(number) {
            let found = format_args!("fence {number} came back as {}", stored.record.fence);
            return Err(trial.broken(contract::STATELESS, found));
        }
        let why = "a creation over a record that is free";
        trial.refuse(&key, None, &trial.record(&key, 4), why).await?;
    }
    Ok(())
}
