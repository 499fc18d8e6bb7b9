//! `gallery` serves a folder of pictures; `gallery demo` shows what its locks do.

use std::io::IsTerminal;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use clap::{Parser, Subcommand};
use gallery::jobs::Gallery;
use gallery::ledger::Ledger;
use gallery::{demo, serve};
use tako::{Engine, Verdict};
use tokio::net::TcpListener;
use tracing::Level;

/// Beside the pictures, so that the default is the same from wherever it is run.
const DATABASE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/gallery.redb");

/// A gallery whose index is rebuilt by one instance at a time.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// The folder of pictures. Imports are stored below it.
    #[arg(long, value_name = "DIR", default_value = demo::PHOTOS)]
    photos: PathBuf,
    /// The database of runs and pictures.
    #[arg(long, value_name = "FILE", default_value = DATABASE)]
    database: PathBuf,
    /// The port on the loopback address; 0 takes a free one.
    #[arg(long, value_name = "N", default_value_t = 8080)]
    port: u16,
    /// Rests so many milliseconds after each picture, so that people can watch a run.
    #[arg(long, value_name = "MS", default_value_t = 0, value_parser = clap::value_parser!(u64).range(..=10_000))]
    pace: u64,
    /// How many seconds a run gets to come to its end when the service is told to stop.
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(..=3600))]
    grace: u64,
}

#[derive(Subcommand)]
enum Command {
    /// Starts a gallery of its own, sends it many requests at once, and checks that no two runs overlapped.
    Demo,
}

fn main() -> anyhow::Result<ExitCode> {
    let arguments = Arguments::parse();
    // The demonstration tells its own story.
    let level = if arguments.command.is_some() { Level::WARN } else { Level::INFO };
    let colours = std::io::stderr().is_terminal();
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_ansi(colours).with_max_level(level).init();
    let runtime = tokio::runtime::Runtime::new()?;
    let outcome = runtime.block_on(async {
        match arguments.command {
            Some(Command::Demo) => demo::run().await.map(|()| ExitCode::SUCCESS),
            None => run(arguments).await,
        }
    });
    // Whatever had not ended within its grace must not hold up the exit either.
    runtime.shutdown_background();
    outcome
}

async fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let Arguments { photos, database, port, pace, grace, .. } = arguments;
    ensure!(photos.is_dir(), "`--photos {}` is not a folder that can be read", photos.display());
    let ledger = Ledger::open(&database)
        .with_context(|| format!("`--database {}` cannot be opened", database.display()))?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
        .await
        .with_context(|| format!("`--port {port}` cannot be listened on"))?;
    let address = listener.local_addr()?;
    // What the environment tells: leases in memory, unless TAKO_ENV names an environment that instances share.
    let engine = Engine::program()?;
    // A store that cannot host leases is told now, and not by the first request that wants one.
    let check = engine.check().await;
    eprintln!("{check}");
    ensure!(check.verdict() != Verdict::Unfit, "the locks of this service cannot work as it is set up");
    let gallery = Arc::new(Gallery { engine, ledger, photos, pace: Duration::from_millis(pace) });
    let stop = serve::told_to_stop()?;
    println!("gallery at http://{address}");
    let shutdown = serve::serve(listener, gallery, stop, Duration::from_secs(grace)).await?;
    for left in shutdown.left_to_lapse() {
        println!(
            "left to lapse: lock \"{}\", fence {}, held for {:?}",
            left.lock(),
            left.fence(),
            left.held_for()
        );
    }
    println!("{}", if shutdown.is_clean() { "stopped: every lock was given back" } else { "stopped" });
    Ok(if shutdown.is_clean() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
