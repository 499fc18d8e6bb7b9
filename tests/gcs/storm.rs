//! Every third request in some trouble, drawn by chance, while processes hand a lock round.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tako::prelude::{Ctx, Lock, lock};
use tako::{Engine, LockError};
use tako_lock_tests::gcs_double::{Bucket, Fault, Generations, Kind, log};
use tako_lock_tests::gcs_engine::{SHORT, engine};
use tako_lock_tests::gcs_server::DOUBLE;
use tokio::task::JoinSet;

static LOCK: Lock = lock!("reindex");

const FAULTS: [Fault; 13] = [
    Fault::Status(429, "rateLimitExceeded"),
    Fault::Status(503, "backendError"),
    Fault::StatusOnceDone(503, "backendError"),
    Fault::Status(408, "requestTimeout"),
    Fault::Status(409, "conflict"),
    Fault::StatusOnceDone(412, "conditionNotMet"),
    Fault::Reset,
    Fault::ResetOnceDone,
    Fault::Hang,
    Fault::HangOnceDone,
    Fault::CutReply,
    Fault::Late(Duration::from_millis(800)),
    Fault::Garbled("<html>"),
];

/// Sees that nobody is inside together, and that fences grow.
#[derive(Default)]
pub(crate) struct Room {
    is_taken: AtomicBool,
    last_fence: AtomicU64,
    visits: AtomicU64,
}

impl Room {
    pub(crate) fn visits(&self) -> u64 {
        self.visits.load(Ordering::SeqCst)
    }

    pub(crate) async fn visit(&self, ctx: &Ctx, length: Duration) -> Result<(), LockError> {
        assert!(!self.is_taken.swap(true, Ordering::SeqCst), "two at once");
        let fence = ctx.fence().expect("a live lease").get();
        assert!(self.last_fence.swap(fence, Ordering::SeqCst) < fence, "fences grow");
        tokio::time::sleep(length).await;
        self.visits.fetch_add(1, Ordering::SeqCst);
        let standing = ctx.check();
        self.is_taken.store(false, Ordering::SeqCst);
        standing
    }
}

/// Numbers that look like chance, the same for each seed.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or(0) % limit
    }
}

fn brew(bucket: &Bucket, seed: u64) {
    let mut chance = Chance(seed);
    for kind in [Kind::Load, Kind::Clock, Kind::Claim, Kind::Beat, Kind::Release] {
        for number in 0..200 {
            if chance.below(3) == 0 {
                bucket.on(kind, number..number + 1, FAULTS[chance.below(FAULTS.len())]);
            }
        }
    }
    bucket.generations(Generations::UpAndDown);
    bucket.limit(SHORT.pace / 2);
}

async fn storm(seed: u64) {
    let name = format!("storm-{seed}");
    let bucket = DOUBLE.bucket(&name);
    let mut processes: Vec<Engine> = Vec::new();
    for label in ["P1", "P2", "P3"] {
        processes.push(engine(&DOUBLE.endpoint(), &name, label, SHORT).await);
    }
    bucket.forget();
    brew(&bucket, seed);
    let room = Arc::new(Room::default());
    let windows = (0..9_usize).map(|number| {
        let (ctx, room) = (processes[number % 3].ctx(), room.clone());
        // The last of each process is held through a heartbeat.
        let length = if number < 6 { Duration::from_millis(20) } else { SHORT.heartbeat * 6 / 5 };
        async move { LOCK.run(&ctx, async |ctx| room.visit(&ctx, length).await).await }
    });
    let windows: JoinSet<_> = windows.collect();
    let ended = tokio::time::timeout(Duration::from_mins(2), windows.join_all()).await;
    let ended = ended.unwrap_or_else(|_| panic!("seed {seed} does not end:\n{}", log(&bucket.history())));
    for window in ended {
        if let Err(error) = window {
            panic!("seed {seed}: {error:?}\n{}", log(&bucket.history()));
        }
    }
    assert_eq!(room.visits(), 9);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_befalls_every_third_request_the_lock_goes_round() {
    (1..=12).map(storm).collect::<JoinSet<_>>().join_all().await;
}
