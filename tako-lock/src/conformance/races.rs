//! Many at once. The racers' requests are polled in turn in one task, so they meet wherever a verb waits; a backend
//! that never waits is raced only on threads, see the module's page.

use std::collections::HashSet;

use super::join::join_all;
use super::trial::{Trial, show};
use super::violation::contract;
use super::{Pace, Violation};
use crate::backend::{Fence, Key, LeaseBackend, Owner, Record, Swap, Token};

/// Raising one counter takes each task several attempts for each success, so fewer tasks do.
const MOST_COUNTERS: u64 = 10;

/// Of many that create the same record, exactly one does, each round; the record is the winner's.
pub async fn one_of_many_creates(backend: &impl LeaseBackend, pace: Pace) -> Result<(), Violation> {
    let trial = Trial::new("one_of_many_creates", backend, pace);
    for round in 0..trial.pace.rounds() {
        one_wins(&trial, &trial.key(), None, trial.pace.racers(), round).await?;
    }
    Ok(())
}

/// Of many that swap on one token, exactly one does, each round; the record is the winner's, and the next round
/// goes on from its token.
pub async fn one_of_many_swaps(backend: &impl LeaseBackend, pace: Pace) -> Result<(), Violation> {
    let trial = Trial::new("one_of_many_swaps", backend, pace);
    let key = trial.key();
    let mut token = trial.apply(&key, None, &trial.record(&key, 0)).await?;
    for round in 0..trial.pace.rounds() {
        token = one_wins(&trial, &key, Some(&token), trial.pace.racers(), round).await?;
    }
    Ok(())
}

/// One race and what is stored after it; the winner's token.
async fn one_wins<B: LeaseBackend>(
    trial: &Trial<'_, B>,
    key: &Key,
    expected: Option<&Token>,
    racers: u64,
    round: u64,
) -> Result<Token, Violation> {
    let records = (0..racers).map(|racer| trial.record(key, 1 + round * racers + racer)).collect();
    let (record, token) = winner(trial, key, expected, records).await?;
    let stored = trial.load_some(key).await?;
    if stored.record != record || stored.token != token {
        let found = format_args!(
            "round {round}: fence {} won with token {token}, and ({}) is stored",
            record.fence,
            show(&stored)
        );
        return Err(trial.broken(contract::ATOMIC, found));
    }
    Ok(token)
}

/// Swaps all records in at once, going by the answers: the one that was applied, and its token.
pub(super) async fn winner<B: LeaseBackend>(
    trial: &Trial<'_, B>,
    key: &Key,
    expected: Option<&Token>,
    records: Vec<Record>,
) -> Result<(Record, Token), Violation> {
    trial.rest(key.path()).await;
    let answers = join_all(records.iter().map(|record| trial.swap_at_once(key, expected, record))).await;
    let mut winners = Vec::new();
    for (record, answer) in records.iter().zip(answers) {
        if let Swap::Applied { token, .. } = answer? {
            winners.push((record, token));
        }
    }
    if let [(record, token)] = &winners[..] {
        return Ok(((*record).clone(), token.clone()));
    }
    let on = expected.map_or_else(|| "nothing".into(), |token| format!("token {token}"));
    let (all, won) = (records.len(), winners.len());
    let sentence = if won == 0 { contract::APPLIES } else { contract::ATOMIC };
    Err(trial.broken(sentence, format_args!("of {all} racing swaps that expect {on}, {won} were applied")))
}

/// Many tasks raise one counter by load and swap; at the end none of their steps is missing, and no swap was
/// refused without a rival's having been applied.
pub async fn no_increment_is_lost(backend: &impl LeaseBackend, pace: Pace) -> Result<(), Violation> {
    let trial = Trial::new("no_increment_is_lost", backend, pace);
    let key = trial.key();
    let (tasks, steps) = (trial.pace.racers().min(MOST_COUNTERS), trial.pace.rounds());
    let first = trial.apply(&key, None, &trial.record(&key, 0)).await?;
    trial.rest(key.path()).await;
    let counters = (0..tasks).map(|task| count(&trial, &key, task, steps, tasks * steps));
    let answers = join_all(counters).await;

    let mut tokens = HashSet::from([first]);
    for answer in answers {
        for token in answer? {
            if let Some(token) = tokens.replace(token) {
                let found = format_args!("two increments got the same token {token}");
                return Err(trial.broken(contract::FRESH, found));
            }
        }
    }
    let reached = trial.load_some(&key).await?.record.fence;
    if reached != Fence::new(tasks * steps) {
        let found =
            format_args!("{tasks} tasks raised a counter {steps} times each, and it stands at {reached}");
        return Err(trial.broken(contract::ATOMIC, found));
    }
    Ok(())
}

/// Raises the counter `steps` times; the tokens of its swaps.
async fn count<B: LeaseBackend>(
    trial: &Trial<'_, B>,
    key: &Key,
    task: u64,
    steps: u64,
    total: u64,
) -> Result<Vec<Token>, Violation> {
    let mut tokens = Vec::new();
    let mut refused = 0;
    for _ in 0..steps {
        loop {
            let stored = trial.load_some(key).await?;
            let fence = Fence::new(stored.record.fence.get().saturating_add(1));
            let owner = Owner::new(format!("counter-{task}#{fence}"));
            let next = Record { owner, fence, ..stored.record };
            if let Swap::Applied { token, .. } = trial.swap_at_once(key, Some(&stored.token), &next).await? {
                tokens.push(token);
                break;
            }
            // Between a load and a refusal somebody else's step was applied, and each can be blamed only once.
            refused += 1;
            if refused > total - steps {
                let found =
                    format_args!("task {task} was refused {refused} times: more often than others won");
                return Err(trial.broken(contract::APPLIES, found));
            }
        }
    }
    Ok(tokens)
}
