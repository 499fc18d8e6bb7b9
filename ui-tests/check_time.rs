//! What a thousand declarations cost: `cargo test -p tako-lock-ui-tests --test check_time -- --ignored --nocapture`.

use std::error::Error;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// The least time of five `cargo check`s of a library of this text.
fn check(name: &str, text: &str) -> Result<Duration, Box<dyn Error>> {
    let library = Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or("no workspace")?.join("tako-lock");
    let library = library.to_str().ok_or("the workspace's path is not text")?;
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let manifest = format!(
        "[package]\nname = \"{name}\"\nedition = \"2024\"\n[dependencies]\ntako-lock = {{ path = {library:?} }}\n[workspace]\n"
    );
    fs::create_dir_all(folder.join("src"))?;
    fs::write(folder.join("Cargo.toml"), manifest)?;
    let mut least = Duration::MAX;
    for _ in 0..5 {
        fs::write(folder.join("src/lib.rs"), text)?;
        let start = Instant::now();
        let mut cargo = Command::new(env!("CARGO"));
        let cargo = cargo.args(["check", "--quiet", "--offline"]).current_dir(&folder);
        let done =
            cargo.env("CARGO_TARGET_DIR", folder.join("target")).env("CARGO_INCREMENTAL", "0").status()?;
        assert!(done.success(), "{name} does not compile");
        least = least.min(start.elapsed());
    }
    Ok(least)
}

#[test]
#[ignore = "it measures, on a quiet machine"]
fn a_thousand_declarations() -> Result<(), Box<dyn Error>> {
    let mut plain = "#![allow(dead_code)]\nstruct Lock(&'static str);\n\
                     const fn lock(name: &'static str) -> Lock {\n    Lock(name)\n}\n"
        .to_owned();
    let mut locks = "#![allow(dead_code)]\nuse tako::prelude::*;\n".to_owned();
    for number in 0..1000 {
        writeln!(plain, "static LOCK{number}: Lock = lock(\"lock-{number}\");")?;
        writeln!(locks, "static LOCK{number}: Lock = lock!(\"lock-{number}\");")?;
    }
    let (plain, locks) = (check("plain-statics", &plain)?, check("lock-statics", &locks)?);
    println!("plain: {plain:?}, with lock!: {locks:?}, more: {:?}", locks.saturating_sub(plain));
    Ok(())
}
