//! The lease protocol, explored step by step by a model checker: every order of every step, with nothing left to
//! chance. tests/README.md says what is in it and what is not.

mod decisions;
mod plants;
mod protocol;
mod state;
mod steps;
mod store;

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use stateright::{Checker, HasDiscoveries, Model};

use plants::{PLANTS, Plant};
use protocol::{EVENTS, Protocol, Tally};

/// Unoptimised, the checker is let go after so many steps: `cargo test --release` finishes.
const MOST: usize = if cfg!(debug_assertions) { 60_000 } else { usize::MAX };

fn protocol(nodes: usize) -> Protocol {
    Protocol { nodes, slip: 1, late: 1, is_removable: false, plant: None, tally: Arc::new(Tally::default()) }
}

/// What the checker came to.
struct Report {
    /// The property that was found broken, and the steps to there.
    broken: Option<(&'static str, String)>,
    is_complete: bool,
    figures: String,
}

fn explore(protocol: Protocol, limit: Duration) -> Report {
    let plant = protocol.plant;
    #[expect(clippy::disallowed_methods, reason = "how long the checker took is for people to read")]
    let started = Instant::now();
    let checker = protocol.checker().threads(2).timeout(limit).finish_when(HasDiscoveries::Any);
    let most = if plant.is_none() { MOST } else { usize::MAX };
    let checker = checker.target_state_count(most).spawn_bfs().join();
    let is_complete = checker.state_count() < most && started.elapsed() < limit;
    let figures = format!(
        "{} states, {} steps, depth {}, {:.1} s{}",
        checker.unique_state_count(),
        checker.state_count(),
        checker.max_depth(),
        started.elapsed().as_secs_f64(),
        if is_complete { "" } else { ", not all" }
    );
    let broken = checker.discoveries().into_iter().next().map(|(property, path)| {
        let mut steps = String::new();
        for (state, action) in path.into_vec() {
            let _ = writeln!(steps, "{state:?}\n  {action:?}");
        }
        (property, steps)
    });
    Report { broken, is_complete, figures }
}

fn keeps_every_promise(protocol: Protocol, limit: Duration) {
    let tally = protocol.tally.clone();
    let Report { broken, is_complete, figures } = explore(protocol, limit);
    eprintln!("{figures}");
    if let Some((property, steps)) = broken {
        panic!("{property} is broken:\n{steps}");
    }
    for event in EVENTS {
        eprintln!("  {event:?}: {}", tally.of(event));
        assert!(tally.of(event) > 0 || !is_complete, "{event:?} never happened: the model is vacuous");
    }
}

#[test]
fn two_nodes() {
    keeps_every_promise(protocol(2), Duration::from_secs(600));
}

#[test]
fn two_nodes_and_an_operator_who_removes_the_record() {
    keeps_every_promise(Protocol { is_removable: true, ..protocol(2) }, Duration::from_secs(600));
}

#[test]
fn every_planted_bug_is_found() {
    let mut wrong = Vec::new();
    for (plant, property) in PLANTS {
        let is_removable = plant == Plant::FenceResetOnCreate;
        let planted = Protocol { plant: Some(plant), is_removable, ..protocol(2) };
        let Report { broken, figures, .. } = explore(planted, Duration::from_secs(120));
        let found = broken.as_ref().map_or("nothing", |(property, _)| property);
        eprintln!("{plant:?}: {found}, {figures}");
        if found != property {
            wrong.push(format!("{plant:?}: {found}, not {property}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
