//! A few seeds of the simulation, for each `cargo test`. CI runs many more, optimised, with the binary `simulate`.

use tako_lock_tests::sim::command::{Order, run};
use tako_lock_tests::sim::plan::{Class, Plan};

const SEEDS: u64 = 24;

fn order(again: u64) -> Order {
    Order {
        from: 0,
        seeds: SEEDS,
        minutes: 10,
        limit: u64::MAX,
        threads: 2,
        again,
        stops: false,
        silent: false,
        timeline: false,
    }
}

#[test]
fn a_few_seeds_break_nothing_and_come_out_the_same_again() {
    let summary = run(order(8));
    assert!(summary.violations.is_empty(), "{}", summary.violations.join("\n"));
    let tally = &summary.tally;
    assert!(tally.holds > 1_000 && tally.requests > 10_000, "hardly anything happened: {tally}");
    assert_eq!(summary.digest, run(order(u64::MAX)).digest, "the same seeds, and another history");
}

#[test]
fn every_class_of_seeds_comes_up() {
    // In the first hundred, which is what people run to have a look.
    for class in [Class::Healthy, Class::Flaky10, Class::Flaky20, Class::Swarm, Class::Wild] {
        assert!((0..100).any(|seed| Plan::new(seed, 1).class == class), "{class:?}");
    }
}
