//! Runs the simulation of the real engine over many seeds, and tells what came of it.

use std::process::ExitCode;

fn main() -> ExitCode {
    tako_lock_tests::sim::command::main()
}
