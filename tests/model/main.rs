//! The lease protocol, explored step by step by a model checker: every order of every step, with nothing left to
//! chance. tests/README.md says what is in it and what is not.

mod decisions;
mod normal;
mod plants;
mod protocol;
mod state;
mod steps;
mod store;

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use stateright::{Checker, HasDiscoveries, Model, Path};

use plants::{PLANTS, Plant};
use protocol::{Action, EVENTS, Protocol, Tally};
use state::State;

/// Unoptimised, the checker is let go after so many steps. `cargo test --release` lets it finish.
const MOST: usize = if cfg!(debug_assertions) { 100_000 } else { usize::MAX };
/// A bound for a machine that is busy with other things; the checker needs a tenth of it.
const LIMIT: Duration = Duration::from_mins(5);

fn protocol(nodes: usize) -> Protocol {
    Protocol { nodes, slip: 1, late: 1, is_removable: false, plant: None, tally: Arc::new(Tally::default()) }
}

/// What the checker came to.
struct Report {
    /// The properties that were found broken, each with the steps to there.
    broken: Vec<(&'static str, String)>,
    is_complete: bool,
    figures: String,
}

/// Explores until one of `wanted` is found broken.
fn explore(protocol: Protocol, wanted: HasDiscoveries, limit: Duration) -> Report {
    let started = Instant::now();
    let checker = protocol.checker().threads(2).timeout(limit).finish_when(wanted);
    let checker = checker.target_state_count(MOST).spawn_bfs().join();
    let is_complete = checker.state_count() < MOST && started.elapsed() < limit;
    let figures = format!(
        "{} states, {} steps, depth {}, {:.1} s{}",
        checker.unique_state_count(),
        checker.state_count(),
        checker.max_depth(),
        started.elapsed().as_secs_f64(),
        if is_complete { "" } else { ", not all" }
    );
    let steps_to = |(property, path): (&'static str, Path<State, Action>)| {
        let mut steps = String::new();
        for (state, action) in path.into_vec() {
            let _ = writeln!(steps, "{state:?}\n  {action:?}");
        }
        (property, steps)
    };
    let broken = checker.discoveries().into_iter().map(steps_to).collect();
    Report { broken, is_complete, figures }
}

fn keeps_every_promise(protocol: Protocol, limit: Duration) {
    let tally = protocol.tally.clone();
    let Report { broken, is_complete, figures } = explore(protocol, HasDiscoveries::AnyFailures, limit);
    eprintln!("{figures}");
    if let Some((property, steps)) = broken.first() {
        panic!("{property} is broken:\n{steps}");
    }
    for event in EVENTS {
        eprintln!("  {event:?}: {}", tally.of(event));
        assert!(tally.of(event) > 0 || !is_complete, "{event:?} never happened: the model is vacuous");
    }
}

#[test]
fn two_nodes() {
    keeps_every_promise(protocol(2), LIMIT);
}

#[test]
fn two_nodes_and_an_operator_who_removes_the_record() {
    keeps_every_promise(Protocol { is_removable: true, slip: 0, ..protocol(2) }, LIMIT);
}

#[test]
fn three_nodes() {
    if let Ok(seconds) = std::env::var("TAKO_TEST_MODEL_SECONDS") {
        let seconds = seconds.parse().expect("for how many seconds to explore three nodes");
        keeps_every_promise(protocol(3), Duration::from_secs(seconds));
    }
}

#[test]
fn every_planted_bug_is_found() {
    let mut wrong = Vec::new();
    for (plant, property) in PLANTS {
        let is_removable = plant == Plant::FenceResetOnCreate;
        let planted = Protocol { plant: Some(plant), is_removable, ..protocol(2) };
        let wanted = HasDiscoveries::AnyOf([property].into());
        let Report { broken, is_complete, figures } = explore(planted, wanted, LIMIT);
        eprintln!("{plant:?}: {property}, {figures}");
        let is_found = broken.iter().any(|(broken, _)| *broken == property);
        // Unoptimised, those that are found soon have to do.
        if !is_found && (is_complete || !cfg!(debug_assertions)) {
            wrong.push(format!("{plant:?} does not break {property}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
