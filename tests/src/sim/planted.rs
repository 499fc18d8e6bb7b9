//! `simulate --planted`: builds a copy of the sources with every mistake in it behind a switch, and shows that the
//! simulation finds each. A survivor means that a check is missing.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

use super::plants::PLANTS;

/// The variable that tells the copy which mistake to make.
const SWITCH: &str = "TAKO_PLANT";

/// Finds every plant, or those whose names contain `only`.
pub(super) fn main(only: Option<&str>) -> ExitCode {
    let chosen = || PLANTS.iter().filter(|plant| only.is_none_or(|only| plant.name.contains(only)));
    let binary = match build() {
        Ok(binary) => binary,
        Err(error) => {
            eprintln!("the planted copy could not be built: {error}");
            return ExitCode::FAILURE;
        }
    };
    let began = Instant::now();
    let (mut survivors, mut most) = (0, 0);
    // The switch itself must change nothing.
    match seeds_until_found(&binary, "none") {
        Ok(None) => {}
        other => {
            eprintln!("with no plant at all: {other:?}");
            survivors += 1;
        }
    }
    for plant in chosen() {
        let since = Instant::now();
        match seeds_until_found(&binary, plant.name) {
            Ok(Some((seeds, what))) => {
                most = most.max(seeds);
                println!(
                    "{:<42} {seeds:>4} seeds {:>5.1} s  {what}",
                    plant.name,
                    since.elapsed().as_secs_f64()
                );
            }
            Ok(None) => {
                survivors += 1;
                println!("{:<42} SURVIVED", plant.name);
            }
            Err(error) => {
                survivors += 1;
                println!("{:<42} could not be run: {error}", plant.name);
            }
        }
    }
    let (count, took) = (chosen().count(), began.elapsed().as_secs_f64());
    println!("planted {count}, found {}, at most {most} seeds, {took:.1} s", count.saturating_sub(survivors));
    if survivors == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs the copy with one mistake; tells how many seeds that took, and what was found first.
fn seeds_until_found(binary: &Path, name: &str) -> io::Result<Option<(u64, String)>> {
    let output = Command::new(binary)
        .args(["--seeds", if name == "none" { "40" } else { "400" }, "--minutes", "20", "--stop", "--silent"])
        .env(SWITCH, name)
        .output()?;
    if output.status.success() {
        return Ok(None);
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let seeds = text.split("seeds ").nth(1).and_then(|rest| rest.split(',').next()?.trim().parse().ok());
    let text = String::from_utf8_lossy(&output.stderr);
    let what = text.lines().find(|line| line.starts_with("  ") || line.contains(" holds lost "));
    let what = what.unwrap_or("no word of what").trim();
    // Without the time.
    let what = what.split_once(' ').map_or(what, |(_, what)| what);
    let what = what.split(": ").take(2).collect::<Vec<_>>().join(": ");
    Ok(Some((seeds.unwrap_or(0), what)))
}

/// Copies the sources, plants everything, and builds the command.
fn build() -> io::Result<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new(".")).to_path_buf();
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let copy = target.join("planted");
    for folder in ["tako-lock", "tako-lock-macros", "tests"] {
        let _ = fs::remove_dir_all(copy.join(folder));
        copy_folder(&root.join(folder), &copy.join(folder))?;
    }
    fs::copy(root.join("Cargo.lock"), copy.join("Cargo.lock"))?;
    fs::copy(root.join("README.md"), copy.join("README.md"))?;
    let manifest = fs::read_to_string(root.join("Cargo.toml"))?;
    let members = |line: &&str| !line.starts_with("members") && !line.starts_with("default-members");
    let manifest = manifest.lines().filter(members).collect::<Vec<_>>().join("\n");
    let ours = "[workspace]\nmembers = [\"tako-lock\", \"tako-lock-macros\", \"tests\"]";
    fs::write(copy.join("Cargo.toml"), manifest.replacen("[workspace]", ours, 1))?;
    plant(&copy.join("tako-lock/src"))?;
    let status = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["build", "--quiet", "--release", "--package", "tako-lock-tests", "--bin", "simulate"])
        .current_dir(&copy)
        .env("CARGO_TARGET_DIR", copy.join("target"))
        .env("RUSTFLAGS", "--cap-lints=allow")
        .status()?;
    if !status.success() {
        return Err(io::Error::other("it does not compile"));
    }
    Ok(copy.join("target/release/simulate"))
}

fn plant(sources: &Path) -> io::Result<()> {
    for plant in PLANTS {
        let switch = format!("crate::planted({:?})", plant.name);
        for (file, from, to) in plant.edits {
            let path = sources.join(file);
            let text = fs::read_to_string(&path)?;
            if !text.contains(from) {
                // The engine has moved on: the plant has to as well.
                return Err(io::Error::other(format!("`{}` finds no `{from}` in {file}", plant.name)));
            }
            fs::write(&path, text.replacen(from, &to.replace("PLANTED", &switch), 1))?;
        }
    }
    let switch = format!(
        "\npub(crate) fn planted(name: &str) -> bool {{\n    static NAME: std::sync::OnceLock<String> = std::sync::OnceLock::new();\n    \
         NAME.get_or_init(|| std::env::var({SWITCH:?}).unwrap_or_default()) == name\n}}\n"
    );
    let path = sources.join("lib.rs");
    let text = fs::read_to_string(&path)?;
    fs::write(&path, text + &switch)
}

fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
