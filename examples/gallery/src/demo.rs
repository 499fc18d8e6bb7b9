//! `gallery demo`: the service on a free port, many requests at once over HTTP, and a look at what came of them.

use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use axum::body::Bytes;
use axum::http::{Method, StatusCode};
use tako::Engine;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use walkdir::WalkDir;

use crate::app::ReindexAnswer;
use crate::client::Client;
use crate::index::{Content, Photo};
use crate::jobs::Gallery;
use crate::ledger::Ledger;
use crate::locks::LockStatus;
use crate::run::{Kind, Run, State, overlapping};
use crate::serve::serve;

/// The pictures that ship with this package.
pub const PHOTOS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/photos");

const WAVES: usize = 3;
const CALLERS: usize = 8;
const IMPORTS: usize = 4;
/// Long enough for all callers of a wave to come while the first one's run goes on.
const PACE: Duration = Duration::from_millis(40);
const GRACE: Duration = Duration::from_secs(10);

/// Runs the demonstration.
///
/// # Errors
/// Two runs overlapped, a request failed, or anything else was not as it should be.
pub async fn run() -> anyhow::Result<()> {
    let folder = tempfile::tempdir().context("there is no temporary folder to work in")?;
    let photos = folder.path().join("photos");
    copy(Path::new(PHOTOS), &photos)
        .context("the pictures that ship with this package are not to be read")?;
    std::fs::write(photos.join("broken.png"), "this is no picture")?;

    let ledger = Ledger::open(&folder.path().join("ledger.redb"))?;
    let gallery = Gallery { engine: Engine::memory(), ledger: ledger.clone(), photos, pace: PACE };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let client = Client::new(listener.local_addr()?);
    println!("gallery demo, at http://{}, with a ledger that is thrown away\n", listener.local_addr()?);
    let (stop, stopped) = oneshot::channel::<()>();
    let stopped = async move { drop(stopped.await) };
    let server = tokio::spawn(serve(listener, Arc::new(gallery), stopped, GRACE));

    println!("{WAVES} waves of {CALLERS} reindexes at once: one starts, the others collapse into it");
    let mut started = 0;
    for wave in 1..=WAVES {
        started += reindex_at_once(&client, wave).await?;
    }
    println!("\n{IMPORTS} imports at once: they queue, and each gets its turn");
    import_at_once(&client).await?;
    println!("\nthe index");
    print_index(&client.get::<Vec<Photo>>("/photos").await?);

    println!("\nstopped in the middle of a reindex: the run hears of it, ends, and gives its lock back");
    let last = start(&client, |client| async move { reindex(&client).await });
    ensure!(glimpse(&client).await?.is_some(), "the last reindex was not seen to run");
    drop(stop);
    let (status, answer) = last.await??;
    println!("  the caller is told {status}: {}", String::from_utf8_lossy(&answer));
    let shutdown = server.await??;
    ensure!(shutdown.is_clean(), "{} locks were left to lapse", shutdown.left_to_lapse().len());
    ensure!(status == StatusCode::SERVICE_UNAVAILABLE, "a run that was stopped answers 503");

    println!("\nthe ledger");
    let runs = ledger.runs().await?;
    print_ledger(&runs);
    check(&runs, started)?;
    println!("\nno two runs of a job overlapped, and every run has a higher fence than the one before it");
    Ok(())
}

/// Sends one wave, and says how many of its requests started a run.
async fn reindex_at_once(client: &Client, wave: usize) -> anyhow::Result<usize> {
    let calls: Vec<_> = (0..CALLERS)
        .map(|_| {
            start(
                client,
                |client| async move { client.post::<ReindexAnswer>("/reindex", Bytes::new()).await },
            )
        })
        .collect();
    if let Some(seen) = glimpse(client).await? {
        println!("  wave {wave}: meanwhile, {seen}");
    }
    let (mut started, mut collapsed) = (Vec::new(), 0);
    for call in calls {
        match call.await?? {
            ReindexAnswer { started: true, run } => started.extend(run),
            ReindexAnswer { started: false, .. } => collapsed += 1,
        }
    }
    let runs: Vec<String> =
        started.iter().map(|run| format!("run {} under fence {}", run.id, run.fence)).collect();
    println!("  wave {wave}: started {} ({}), collapsed {collapsed}", started.len(), runs.join(", "));
    ensure!(!started.is_empty(), "no request of the wave started a run");
    Ok(started.len())
}

async fn import_at_once(client: &Client) -> anyhow::Result<()> {
    let picture = Bytes::from(std::fs::read(Path::new(PHOTOS).join("sea/harbour.png"))?);
    let calls: Vec<_> = (1..=IMPORTS)
        .map(|number| {
            let picture = picture.clone();
            start(client, move |client| async move {
                client.post::<Run>(&format!("/import?name=harbour-{number}.png"), picture).await
            })
        })
        .collect();
    for (number, call) in (1..).zip(calls) {
        let run = call.await??;
        println!("  harbour-{number}.png came in by run {} under fence {}", run.id, run.fence);
    }
    Ok(())
}

/// What `GET /locks` and `GET /runs` tell of a reindex under way; `None` when none was seen.
async fn glimpse(client: &Client) -> anyhow::Result<Option<String>> {
    for _ in 0..200 {
        let locks = client.get::<Vec<LockStatus>>("/locks").await?;
        let runs = client.get::<Vec<Run>>("/runs").await?;
        let run = runs.into_iter().find(|run| run.state == State::Running && run.done > 0);
        let holder = locks.into_iter().find(|lock| lock.name == Kind::Reindex.lock());
        if let (Some(run), Some(holder)) = (run, holder.and_then(|lock| lock.holder)) {
            return Ok(Some(format!(
                "\"reindex\" is held by {} and run {} has read {} of {} pictures",
                holder.owner,
                run.id,
                run.done,
                run.total.unwrap_or_default()
            )));
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Ok(None)
}

/// The demonstration's own judgement, from the ledger alone.
fn check(runs: &[Run], started: usize) -> anyhow::Result<()> {
    let finished = |kind| runs.iter().filter(|run| run.kind == kind && run.state == State::Finished).count();
    ensure!(started < WAVES * CALLERS, "none of the reindexes collapsed");
    ensure!(finished(Kind::Reindex) == started, "the ledger knows of another number of reindexes");
    ensure!(finished(Kind::Import) == IMPORTS, "an import is missing from the ledger");
    if let Some((one, other)) = overlapping(runs) {
        anyhow::bail!("run {} and run {} overlapped: {one:?}, {other:?}", one.id, other.id);
    }
    Ok(())
}

fn print_index(photos: &[Photo]) {
    for Photo { path, content } in photos {
        match content {
            Content::Picture(picture) => println!(
                "  {path:<24} {:<5} {:>3} x {:<3} {:>6} bytes, sha256 {}…",
                picture.format,
                picture.width,
                picture.height,
                picture.bytes,
                &picture.sha256[..12]
            ),
            Content::Broken { error } => println!("  {path:<24} {error}"),
        }
    }
}

fn print_ledger(runs: &[Run]) {
    for run in runs.iter().rev() {
        let time = |text: &str| text.get(11..23).unwrap_or_default().to_owned();
        println!(
            "  run {:>2}  {:<7}  fence {}  {} to {:<12}  {:>2} pictures  {}{}",
            run.id,
            run.kind.lock(),
            run.fence,
            time(&run.started),
            run.finished.as_deref().map(time).unwrap_or_default(),
            run.done,
            format!("{:?}", run.state).to_lowercase(),
            run.error.as_ref().map(|error| format!(": {error}")).unwrap_or_default()
        );
    }
}

async fn reindex(client: &Client) -> anyhow::Result<(StatusCode, Bytes)> {
    client.send(Method::POST, "/reindex", Bytes::new()).await
}

fn start<T, F>(client: &Client, call: impl FnOnce(Client) -> F) -> tokio::task::JoinHandle<anyhow::Result<T>>
where
    T: Send + 'static,
    F: Future<Output = anyhow::Result<T>> + Send + 'static,
{
    tokio::spawn(call(client.clone()))
}

/// Imports are stored among the pictures, and those of this package are to stay as they are.
fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    for entry in WalkDir::new(from) {
        let entry = entry?;
        let target = to.join(entry.path().strip_prefix(from)?);
        if entry.file_type().is_dir() {
            std::fs::create_dir_all(&target)?;
        } else {
            std::fs::copy(entry.path(), &target)?;
        }
    }
    Ok(())
}
