//! Before anything else: is this a store at all?

use super::races::winner;
use super::trial::Trial;
use super::violation::contract;
use super::{Pace, Violation};
use crate::backend::{LeaseBackend, Swap};

/// Asks the questions without whose answers no other property means anything: create twice, swap, swap on a stale
/// token, swap where nothing is stored, two racing swaps, and a fresh token after each write.
///
/// A double that says yes to everything would pass whatever does not ask twice; here it is stopped by that message.
pub async fn probe(backend: &impl LeaseBackend, pace: Pace) -> Result<(), Violation> {
    let trial = Trial::new("probe", backend, pace);
    let (key, absent) = (trial.key(), trial.key());
    let [first, again, second, stale, elsewhere] = [1, 2, 3, 4, 5].map(|number| trial.record(&key, number));

    let token_1 = match trial.swap(&key, None, &first).await? {
        Swap::Applied { token, .. } => token,
        Swap::Refused => {
            return Err(trial.broken(contract::APPLIES, "this store refuses to create an absent record"));
        }
    };
    let twice = asked(&trial, trial.swap(&key, None, &again).await)?;
    let present = if let Swap::Applied { token, .. } = &twice { token } else { &token_1 };
    let token_2 = match trial.swap(&key, Some(present), &second).await? {
        Swap::Applied { token, .. } => token,
        Swap::Refused => {
            return Err(
                trial.broken(contract::APPLIES, "this store refuses a swap on the token that it gave")
            );
        }
    };
    let old = asked(&trial, trial.swap(&key, Some(&token_1), &stale).await)?;
    let nowhere = asked(&trial, trial.swap(&absent, Some(&token_1), &elsewhere).await)?;

    let is_yes = |answer: &Swap| matches!(answer, Swap::Applied { .. });
    let (contract, found) = match (is_yes(&twice), is_yes(&old), is_yes(&nowhere)) {
        (true, true, true) => (
            contract::EXPECTED,
            "this store says yes to everything: it created a record twice, swapped it on a stale token, and \
             swapped one that does not exist",
        ),
        (true, ..) => (contract::EXPECTED, "this store creates a record over one that exists"),
        // A token that did not change is not stale, so the answer to the last swap says nothing.
        _ if token_2 == token_1 => (contract::FRESH, "this store gave the same token to two writes"),
        (_, true, _) => (contract::EXPECTED, "this store swaps on a stale token"),
        (.., true) => (contract::EXPECTED, "this store creates a record for a swap that expects a token"),
        (false, false, false) => {
            let racers = vec![trial.record(&key, 6), trial.record(&key, 7)];
            let (_, token_3) = winner(&trial, &key, Some(&token_2), racers).await?;
            if token_3 != token_2 && token_3 != token_1 {
                return Ok(());
            }
            (contract::FRESH, "this store gave an earlier token to a third write")
        }
    };
    Err(trial.broken(contract, found))
}

/// An answer to a question whose answer is no. A store that reports the no as a failure has its own sentence.
fn asked<B: LeaseBackend>(trial: &Trial<'_, B>, answer: Result<Swap, Violation>) -> Result<Swap, Violation> {
    answer.map_err(|violation| match violation.kind() {
        Some(kind) if !kind.is_transient() => {
            let found = format!("this store reports a refusal as an error: {}", violation.found);
            Violation { error: violation.error, ..trial.broken(contract::REFUSAL, found) }
        }
        _ => violation,
    })
}
