//! Runs real processes over one bucket, and kills, stops and cuts them off. Linux only.

use std::process::ExitCode;

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    tako_lock_tests::chaos::command::main()
}

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    eprintln!("chaos stamps with a clock and counts leaks in a way that only Linux has");
    ExitCode::FAILURE
}
