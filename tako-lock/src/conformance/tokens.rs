//! Tokens and reads: each version has a token of its own, and every read sees the last version.

use std::collections::HashSet;

use super::trial::{Trial, show};
use super::violation::contract;
use super::{Pace, Violation};
use crate::backend::{LeaseBackend, Record, Token};

/// Many records in a row, all unlike, get tokens that are all unlike.
pub async fn every_applied_swap_makes_a_fresh_token(
    backend: &impl LeaseBackend,
    pace: Pace,
) -> Result<(), Violation> {
    let trial = Trial::new("every_applied_swap_makes_a_fresh_token", backend, pace);
    let key = trial.key();
    let records = (0..trial.pace.writes()).map(|number| trial.record(&key, number)).collect();
    distinct_tokens(&trial, &key, records).await
}

/// A record with the very bytes of an earlier one, or of the present one, still gets a token that no other had. A
/// holder that stalls across such a change must be refused.
pub async fn a_record_written_before_gets_a_token_of_its_own(
    backend: &impl LeaseBackend,
    pace: Pace,
) -> Result<(), Violation> {
    let trial = Trial::new("a_record_written_before_gets_a_token_of_its_own", backend, pace);
    let key = trial.key();
    let records = [1, 2, 1, 1, 2].map(|number| trial.record(&key, number)).to_vec();
    distinct_tokens(&trial, &key, records).await
}

async fn distinct_tokens<B: LeaseBackend>(
    trial: &Trial<'_, B>,
    key: &crate::backend::Key,
    records: Vec<Record>,
) -> Result<(), Violation> {
    let mut seen: HashSet<Token> = HashSet::new();
    let mut last: Option<Token> = None;
    for record in records {
        let token = trial.apply(key, last.as_ref(), &record).await?;
        if !seen.insert(token.clone()) {
            let found = format_args!("write {} got token {token}, which an earlier one had", seen.len() + 1);
            return Err(trial.broken(contract::FRESH, found));
        }
        last = Some(token);
    }
    Ok(())
}

/// Each load after a swap has answered sees that swap's record, also where the same key has been loaded before.
pub async fn a_load_sees_the_last_applied_swap(
    backend: &impl LeaseBackend,
    pace: Pace,
) -> Result<(), Violation> {
    let trial = Trial::new("a_load_sees_the_last_applied_swap", backend, pace);
    let key = trial.key();
    // So that an absence, too, could have been remembered.
    trial.load(&key).await?;
    let mut token = None;
    for number in 0..4 {
        let record = trial.record(&key, number);
        token = Some(trial.apply(&key, token.as_ref(), &record).await?);
        let stored = trial.load_some(&key).await?;
        if stored.record != record {
            let found = format_args!("fence {number} was written, and ({}) was read", show(&stored));
            return Err(trial.broken(contract::READS, found));
        }
    }
    Ok(())
}

/// The token that a swap answers is the one that a load then gives.
pub async fn the_answered_token_is_the_stored_one(
    backend: &impl LeaseBackend,
    pace: Pace,
) -> Result<(), Violation> {
    let trial = Trial::new("the_answered_token_is_the_stored_one", backend, pace);
    let key = trial.key();
    let mut token = None;
    for number in 0..3 {
        let answered = trial.apply(&key, token.as_ref(), &trial.record(&key, number)).await?;
        let stored = trial.load_some(&key).await?;
        if stored.token != answered {
            let found = format_args!("the swap answered token {answered}, the load {}", stored.token);
            return Err(trial.broken(contract::READS, found));
        }
        token = Some(answered);
    }
    Ok(())
}
