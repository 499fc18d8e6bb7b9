//! One process: the real engine, two callers that contend, and what they see.

use std::fs::File;
use std::io::{self, BufRead};
use std::net::SocketAddr;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Signal, set_parent_process_death_signal};
use tako::prelude::Ctx;
use tako::{CancelCause, Engine, LockError};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use super::line::{HoldId, How, Ledger, Line, Look, Stretch};
use super::plant::{Plant, Twisted};
use super::slow::Slow;
use super::{LOCK, POLICY, clock, register};
use crate::gcs_engine;
use crate::millis;
use crate::sim::chance::Chance;

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
        Some(Plant::SlowClock) if told.node % 2 == 1 => {
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

/// One of those that contend in a process.
struct Caller {
    told: Arc<Told>,
    ctx: Ctx,
    calls: Arc<AtomicU32>,
    ledger: Ledger,
    witness: Arc<File>,
    chance: Chance,
}

impl Caller {
    fn new(told: Arc<Told>, ctx: Ctx, calls: Arc<AtomicU32>, number: u64) -> Caller {
        let stream = 1_000 + told.node as u64 * 1_000_000 + u64::from(told.life) * 10 + number;
        // A descriptor of its own: a flock belongs to it.
        let witness = File::options().read(true).write(true).open(witness(&told.folder));
        Caller {
            chance: Chance::new(told.seed, stream),
            ledger: Ledger::open(&ledger(&told.folder)).expect("the file"),
            witness: Arc::new(witness.expect("the witness")),
            told,
            ctx,
            calls,
        }
    }

    async fn live(mut self) {
        loop {
            let pause = self.chance.between(20, 500);
            tokio::time::sleep(millis(pause)).await;
            let call = self.calls.fetch_add(1, Ordering::Relaxed);
            let hold = HoldId { node: self.told.node, life: self.told.life, call };
            let answer = match self.chance.below(5) {
                0 => self.once(hold).await,
                1 => self.drop_halfway(hold).await,
                _ => self.wait(hold).await,
            };
            match answer {
                Ok(()) | Err(LockError::Lost(_) | LockError::Unavailable { .. }) => {}
                Err(LockError::ShuttingDown { .. }) => return,
                Err(LockError::Cancelled(cancelled)) if cancelled.cause() == CancelCause::Shutdown => return,
                Err(error) => println!("odd {hold}: {error:?}"),
            }
        }
    }

    async fn wait(&mut self, hold: HoldId) -> Result<(), LockError> {
        let ctx = self.ctx.clone();
        let mut has_lost = false;
        let work = async |ctx| {
            has_lost = self.work(ctx, hold).await;
            Ok(())
        };
        let answer = LOCK.run(&ctx, work).await;
        tell_if_unsaid(hold, has_lost, &answer);
        answer
    }

    async fn once(&mut self, hold: HoldId) -> Result<(), LockError> {
        let ctx = self.ctx.clone();
        let mut has_lost = false;
        let work = async |ctx| {
            has_lost = self.work(ctx, hold).await;
            Ok(())
        };
        let answer = LOCK.try_run(&ctx, work).await;
        tell_if_unsaid(hold, has_lost, &answer);
        answer.map(|_| ())
    }

    async fn drop_halfway(&mut self, hold: HoldId) -> Result<(), LockError> {
        let patience = millis(self.chance.spread(30, 3_000));
        let ledger = Ledger::open(&ledger(&self.told.folder)).expect("the file");
        let mut run = Box::pin(self.wait(hold));
        tokio::select! {
            answer = &mut run => answer,
            () = tokio::time::sleep(patience) => {
                // The call is dropped after this.
                ledger.append(&Line::End(hold, How::Dropped, clock())).expect("the file");
                Ok(())
            }
        }
    }

    /// Looks and acts in turn; tells whether a look said that the lease was lost.
    async fn work(&mut self, ctx: Ctx, hold: HoldId) -> bool {
        let length = match self.chance.below(10) {
            0..6 => self.chance.between(20, 300),
            6..9 => self.chance.between(500, 3_000),
            _ => self.chance.between(4_000, 8_000),
        };
        let until = Instant::now() + millis(length);
        let mut number = 0;
        let mut first_fence = None;
        let mut inside = None;
        loop {
            let at = Stretch { hold, number };
            let (fence, before) = self.look(&ctx, at, &mut first_fence);
            // Taken from look to look.
            drop(inside.take());
            let Some(fence) = fence else {
                let is_lost = ctx.cause() == Some(CancelCause::Lost);
                self.end(hold, if is_lost { How::Lost } else { How::Returned });
                return is_lost;
            };
            if number > 0 && Instant::now() >= until {
                self.end(hold, How::Returned);
                return false;
            }
            inside = self.enter(at);
            if number > 0 {
                self.dawdle().await;
            }
            // Whether it was accepted is for the register to remember.
            register::act(self.told.register, at, fence, before).await.expect("the register");
            let pause = self.chance.spread(2, 30);
            tokio::time::sleep(millis(pause)).await;
            number += 1;
        }
    }

    fn look(&self, ctx: &Ctx, at: Stretch, first_fence: &mut Option<u64>) -> (Option<u64>, u64) {
        let seen = self.ledger.length().expect("the file");
        let before = clock();
        let is_held = ctx.check().is_ok();
        let mut fence = ctx.fence().filter(|_| is_held).map(tako::Fence::get);
        let after = clock();
        if self.told.plant == Some(Plant::Unchecked) {
            fence = fence.or(*first_fence);
            *first_fence = fence;
        }
        self.ledger.append(&Line::Look(Look { at, fence, seen, before, after })).expect("the file");
        (fence, before)
    }

    fn end(&self, hold: HoldId, how: How) {
        self.ledger.append(&Line::End(hold, how, clock())).expect("the file");
    }

    /// Takes the flock if it is free, and says who has it if not.
    fn enter(&self, at: Stretch) -> Option<Inside> {
        match self.witness.try_lock() {
            Ok(()) => {
                let inside = Inside(self.witness.clone());
                self.witness.write_all_at(format!("{at}\n").as_bytes(), 0).expect("the witness");
                Some(inside)
            }
            Err(std::fs::TryLockError::WouldBlock) => {
                let mut text = [0; 64];
                let length = self.witness.read_at(&mut text, 0).expect("the witness");
                let text = str::from_utf8(&text[..length]).unwrap_or_default();
                let by = text.strip_suffix('\n').and_then(|name| name.parse().ok());
                self.ledger.append(&Line::Contended(at, by)).expect("the file");
                None
            }
            Err(std::fs::TryLockError::Error(error)) => panic!("the witness: {error}"),
        }
    }

    /// Between look and act, where a stop hurts most. No longer than a holder may.
    async fn dawdle(&mut self) {
        let length = millis(if self.chance.once_in(2) {
            self.chance.between(50, 200)
        } else {
            self.chance.spread(1, 100)
        });
        if self.chance.once_in(4) {
            // As work does that knows nothing of futures.
            std::thread::sleep(length);
        } else {
            tokio::time::sleep(length).await;
        }
    }
}

/// The flock. It goes with the name that says whose it is.
struct Inside(Arc<File>);

impl Drop for Inside {
    fn drop(&mut self) {
        self.0.set_len(0).expect("the witness");
        self.0.unlock().expect("the witness");
    }
}

/// I4: the caller of a hold that was lost gets the error, although its work returned a value.
fn tell_if_unsaid<T>(hold: HoldId, has_lost: bool, answer: &Result<T, LockError>) {
    if has_lost && !matches!(answer, Err(LockError::Lost(_))) {
        println!("odd {hold}: lost, and its caller was told nothing");
    }
}
