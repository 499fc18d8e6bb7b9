//! Requests that nobody waits for any more.

use std::time::Duration;

use super::join::{dropped_at, join_all};
use super::trial::{Trial, show};
use super::violation::contract;
use super::{Pace, Violation};
use crate::backend::{LeaseBackend, Swap};

/// A verb that waits more often than this is dropped at this many of its awaits.
const PLACES: usize = 12;

/// A swap that was dropped, at whichever of its awaits, has been applied whole or not at all; the next swap on the
/// same token settles which, and what it has settled stays.
pub async fn a_dropped_swap_lands_whole_or_not_at_all(
    backend: &impl LeaseBackend,
    pace: Pace,
) -> Result<(), Violation> {
    let trial = Trial::new("a_dropped_swap_lands_whole_or_not_at_all", backend, pace);
    // Each on a key of its own, so that a slow pace takes the time of one.
    let answers = join_all((1..=PLACES).map(|place| drop_and_settle(&trial, place))).await;
    answers.into_iter().collect()
}

async fn drop_and_settle<B: LeaseBackend>(trial: &Trial<'_, B>, place: usize) -> Result<(), Violation> {
    let key = trial.key();
    let [first, dropped, settling, last] = [1, 2, 3, 4].map(|number| trial.record(&key, number));
    let token = trial.apply(&key, None, &first).await?;
    trial.rest(key.path()).await;
    if let Some(Err(error)) = dropped_at(trial.send_swap(&key, Some(&token), &dropped), place).await {
        // Throttled, so it was not applied: one of the two things that may become of a dropped one.
        let mut throttled = Duration::ZERO;
        trial.wait_out(&mut throttled, "swap", key.path(), error).await?;
    }

    let seen = trial.load_some(&key).await?;
    let is_old = seen.record == first && seen.token == token;
    let is_new = seen.record == dropped && seen.token != token;
    if !is_old && !is_new {
        let found = format_args!("a swap dropped at await {place} left half a write: {}", show(&seen));
        return Err(trial.broken(contract::DROPPED, found));
    }
    // The old record proves nothing yet: only a second swap on its token keeps the first from landing.
    let (settled, fresh) = match trial.swap(&key, Some(&token), &settling).await? {
        Swap::Applied { .. } if is_new => {
            let found = "the dropped swap was applied, and its expected token is still good for another";
            return Err(trial.broken(contract::ATOMIC, found));
        }
        Swap::Applied { token, .. } => (settling, token),
        Swap::Refused => (dropped, trial.load_some(&key).await?.token),
    };
    trial.pause(trial.pace.gap).await;
    let stored = trial.load_some(&key).await?;
    if stored.record != settled || stored.token != fresh {
        let found = format_args!(
            "fence {} with token {fresh} had settled it, and ({}) is stored",
            settled.fence,
            show(&stored)
        );
        return Err(trial.broken(contract::DROPPED, found));
    }
    trial.apply(&key, Some(&fresh), &last).await?;
    Ok(())
}
