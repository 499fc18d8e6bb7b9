//! Real processes that are killed, stopped and cut off: a few seconds of it; half a minute where `TAKO_TEST_SLOW` is set,
//! as in CI; `TAKO_CHAOS_MINUTES` minutes where that is. What is looked at stands in `src/chaos/mod.rs`.
#![cfg(target_os = "linux")]

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tako_lock_tests::chaos::command::{Order, Outcome, run};
use tako_lock_tests::chaos::plant::Plant;

/// One fleet at a time: the machine may be small.
static MACHINE: Mutex<()> = Mutex::new(());

fn trouble(length: Duration, plant: Option<Plant>) -> Outcome {
    let _machine = MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
    let order = Order { program: env!("CARGO_BIN_EXE_chaos").into(), seed: 1, length, nodes: 5, plant };
    let outcome = run(&order).expect("ports, processes and files");
    // Shown with `--nocapture`, and where a test fails.
    println!("{outcome}");
    outcome
}

#[test]
fn processes_that_are_killed_stopped_and_cut_off_never_act_together() {
    let minutes = std::env::var("TAKO_CHAOS_MINUTES").ok();
    let minutes: Option<u64> =
        minutes.map(|minutes| minutes.parse().expect("TAKO_CHAOS_MINUTES is a number"));
    let length = match (minutes, std::env::var_os("TAKO_TEST_SLOW")) {
        (Some(minutes), _) => Duration::from_mins(minutes),
        (None, Some(_)) => Duration::from_secs(30),
        (None, None) => Duration::from_secs(4),
    };
    let outcome = trouble(length, None);
    assert!(outcome.violations().is_empty(), "{outcome}");
    assert!(outcome.acquisitions() > 3, "hardly anything happened: {outcome}");
    if length >= Duration::from_secs(30) {
        assert!(outcome.faults().iter().all(|count| *count > 0), "{outcome}");
    }
    if length >= Duration::from_mins(10) {
        assert!(outcome.faults().iter().all(|count| *count >= 50), "{outcome}");
        assert!(outcome.late_acts() > 0, "the register was never put to the test: {outcome}");
    }
}

/// The rules that were broken.
fn found(plant: Plant, length: Duration) -> String {
    let outcome = trouble(length, Some(plant));
    let mut rules: Vec<&str> = outcome.violations().iter().filter_map(|text| text.get(..1)).collect();
    rules.sort_unstable();
    rules.dedup();
    rules.concat()
}

#[test]
fn processes_that_do_act_together_are_found() {
    for plant in [Plant::YesMan, Plant::CarelessStore] {
        let rules = found(plant, Duration::from_mins(1));
        // Whichever comes first.
        assert!(rules.contains(['1', '2', '3', '4', '5', '6', '7']), "{}: {rules}", plant.name());
    }
}

#[test]
fn a_process_that_leaves_something_behind_is_found() {
    assert_eq!(found(Plant::Leaky, Duration::ZERO), "9");
}
