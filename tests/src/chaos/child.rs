//! One process: the real engine, two callers that contend, and what is left when they have ended.

use std::fs::File;
use std::io::{self, BufRead};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::time::{Duration, Instant};

use rustix::process::{Signal, set_parent_process_death_signal};
use tako::Engine;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use super::POLICY;
use super::caller::Caller;
use super::plant::{Plant, Twisted};
use super::slow::Slow;
use crate::gcs_engine;
use crate::millis;

/// The bucket that all contend in.
pub(super) const BUCKET: &str = "chaos";

/// What a process is told on its command line, after the word `child`.
#[derive(Debug, Clone)]
pub(super) struct Told {
    pub(super) node: usize,
    pub(super) life: u32,
    pub(super) seed: u64,
    pub(super) endpoint: String,
    pub(super) register: SocketAddr,
    pub(super) folder: PathBuf,
    pub(super) plant: Option<Plant>,
}

impl Told {
    pub(super) fn words(&self) -> [String; 8] {
        [
            "child".to_owned(),
            self.node.to_string(),
            self.life.to_string(),
            self.seed.to_string(),
            self.endpoint.clone(),
            self.register.to_string(),
            self.folder.display().to_string(),
            self.plant.map_or("none", Plant::name).to_owned(),
        ]
    }

    fn parse(words: &[String]) -> Option<Told> {
        let [node, life, seed, endpoint, register, folder, plant] = words else { return None };
        Some(Told {
            node: node.parse().ok()?,
            life: life.parse().ok()?,
            seed: seed.parse().ok()?,
            endpoint: endpoint.clone(),
            register: register.parse().ok()?,
            folder: folder.into(),
            plant: Plant::named(plant),
        })
    }
}

/// The file in the folder of a run that all append to.
pub(super) fn ledger(folder: &Path) -> PathBuf {
    folder.join("looks")
}

/// The file whose flock is the witness.
pub(super) fn witness(folder: &Path) -> PathBuf {
    folder.join("witness")
}

/// Runs as a child.
pub(super) fn main(words: &[String]) -> ExitCode {
    // Also when it is stopped: whoever is orphaned must not stay.
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    // A broken child ends at once, with a word, and is missed by its parent.
    std::panic::set_hook(Box::new(|panic| {
        eprintln!("process {}: {panic}", std::process::id());
        std::process::exit(101);
    }));
    let told = Told::parse(words).expect("the words of a child");
    let (end, ended) = oneshot::channel();
    std::thread::spawn(move || {
        let mut end = Some(end);
        for _line in io::stdin().lock().lines().map_while(Result::ok) {
            // The first line is the order to end.
            end.take().map(|end| end.send(()));
        }
        if end.is_some() {
            // The parent has gone without a word.
            std::process::exit(102);
        }
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(live(told, ended));
    ExitCode::SUCCESS
}

/// What a process has of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Owned {
    threads: usize,
    descriptors: usize,
}

impl Owned {
    fn now() -> Owned {
        let count = |folder| std::fs::read_dir(folder).expect("a kernel with /proc").count();
        Owned { threads: count("/proc/self/task"), descriptors: count("/proc/self/fd") }
    }
}

async fn live(told: Told, ended: oneshot::Receiver<()>) {
    let before = Owned::now();
    let engine = engine(&told);
    println!("ready");
    let told = Arc::new(told);
    let calls = Arc::new(AtomicU32::new(0));
    let mut callers = JoinSet::new();
    for number in 0..2 {
        let caller = Caller::new(told.clone(), engine.ctx(), calls.clone(), number);
        callers.spawn(caller.live());
    }
    let _ = ended.await;
    let shutdown = engine.shutdown(POLICY.release * 2).await;
    callers.join_all().await;
    drop(engine);
    if told.plant == Some(Plant::Leaky) {
        tokio::spawn(std::future::pending::<()>());
        std::thread::spawn(std::thread::park);
        std::mem::forget(File::open("/dev/null"));
    }
    let metrics = tokio::runtime::Handle::current().metrics();
    let left = || (metrics.num_alive_tasks(), Owned::now());
    // Sockets and threads take a moment to end.
    let patience = Instant::now() + Duration::from_secs(5);
    while left() != (0, before) && Instant::now() < patience {
        tokio::time::sleep(millis(20)).await;
    }
    let (tasks, now) = left();
    if !shutdown.is_clean() {
        println!("odd left to lapse: {:?}", shutdown.left_to_lapse());
    }
    if (tasks, now) != (0, before) {
        println!("odd left behind: {tasks} tasks, {before:?} before and {now:?} now");
    }
    println!("ended");
}

fn engine(told: &Told) -> Engine {
    let lease = gcs_engine::lease(&told.endpoint, BUCKET);
    let label = format!("{}.{}", told.node, told.life);
    let built = match told.plant {
        Some(plant @ (Plant::ShortRecord | Plant::YesMan)) => {
            let builder = Engine::builder(Twisted::new(lease, plant));
            builder.app("gallery").env("test").label(label).under_policy(POLICY).build()
        }
        Some(Plant::SlowClock) if told.node > 0 => {
            let builder = Engine::builder(lease).in_world(Arc::new(Slow::new()));
            builder.app("gallery").env("test").label(label).under_policy(POLICY).build()
        }
        _ => {
            let builder = Engine::builder(lease);
            builder.app("gallery").env("test").label(label).under_policy(POLICY).build()
        }
    };
    built.expect("an engine")
}
