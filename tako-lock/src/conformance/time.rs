//! The store's clock, which decides expiry.

use std::time::Duration;

use super::trial::Trial;
use super::violation::contract;
use super::{CLOCK_TOLERANCE, Pace, Violation};
use crate::backend::{LeaseBackend, Swap};

/// Long enough for a clock that stands still, or counts in another unit, to be told from one within tolerance.
const SPAN: Duration = Duration::from_millis(2_500);

/// Readings of the store's clock never go back by more than [`CLOCK_TOLERANCE`].
pub async fn the_clock_does_not_go_back(backend: &impl LeaseBackend, pace: Pace) -> Result<(), Violation> {
    let trial = Trial::new("the_clock_does_not_go_back", backend, pace);
    let mut highest = trial.now().await?;
    for _ in 0..trial.pace.writes().min(20) {
        let now = trial.now().await?;
        if now.plus(CLOCK_TOLERANCE) < highest {
            let found = format_args!("it stood at {highest}, then at {now}");
            return Err(trial.broken(contract::CLOCK, found));
        }
        highest = highest.max(now);
    }
    Ok(())
}

/// The store's clock runs as fast as the host's: a clock that stands still would never let a dead holder's lease
/// expire, and one in another unit would end a live one's. Takes two and a half seconds.
pub async fn the_clock_keeps_pace(backend: &impl LeaseBackend, pace: Pace) -> Result<(), Violation> {
    let trial = Trial::new("the_clock_keeps_pace", backend, pace);
    let first_sent = trial.host_now();
    let first = trial.now().await?;
    let first_received = trial.host_now();
    trial.pause(SPAN).await;
    let second_sent = trial.host_now();
    let second = trial.now().await?;
    let second_received = trial.host_now();
    let (least, most) = (second_sent.since(first_received), second_received.since(first_sent));
    let passed = second.since(first);
    if passed + CLOCK_TOLERANCE < least || passed > most + CLOCK_TOLERANCE {
        let found = format_args!("the store's clock moved by {passed:?} while the host's moved by {most:?}");
        return Err(trial.broken(contract::CLOCK, found));
    }
    Ok(())
}

/// Where a swap tells when it was made, that lies between a reading of the clock before it and one after it, give
/// or take [`CLOCK_TOLERANCE`]. A store that does not tell passes.
pub async fn a_write_is_dated_by_the_stores_clock(
    backend: &impl LeaseBackend,
    pace: Pace,
) -> Result<(), Violation> {
    let trial = Trial::new("a_write_is_dated_by_the_stores_clock", backend, pace);
    let key = trial.key();
    let mut token = None;
    for number in 0..2 {
        let before = trial.now().await?;
        let swap = trial.swap(&key, token.as_ref(), &trial.record(&key, number)).await?;
        let after = trial.now().await?;
        let Swap::Applied { token: fresh, at } = swap else {
            return Err(trial.broken(contract::APPLIES, "a swap on what is stored was refused"));
        };
        token = Some(fresh);
        if let Some(at) = at
            && (at.plus(CLOCK_TOLERANCE) < before || at > after.plus(CLOCK_TOLERANCE))
        {
            let found = format_args!("a write between {before} and {after} was dated {at}");
            return Err(trial.broken(contract::DATED, found));
        }
    }
    Ok(())
}
