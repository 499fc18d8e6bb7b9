//! Allocations of one uncontended acquire and release in memory, once warm.
//!
//! `cargo bench -p tako-lock --bench allocations`

use std::future::Future;

use allocation_counter::measure;
use ash_lock::{LockClient, LockConfig};
use tako::prelude::*;
use tako::{Engine, LockError};
use tokio::runtime::{Builder, Runtime};

static LOCK: Lock = lock!("bench");

const ROUNDS: u64 = 1_000;

fn report<F: Future>(runtime: &Runtime, what: &str, mut call: impl FnMut() -> F) {
    runtime.block_on(async {
        for _ in 0..ROUNDS {
            call().await;
        }
    });
    let counted = measure(|| {
        runtime.block_on(async {
            for _ in 0..ROUNDS {
                call().await;
            }
        });
    });
    let each = |total: u64| {
        let hundredths = total * 100 / ROUNDS;
        format!("{}.{:02}", hundredths / 100, hundredths % 100)
    };
    println!(
        "{what:<28} {:>7} allocations {:>9} bytes a call",
        each(counted.count_total),
        each(counted.bytes_total)
    );
}

fn main() {
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    let ctx = Engine::memory().ctx();
    report(&runtime, "tako try_run", || LOCK.try_run(&ctx, async |ctx| Ok::<_, LockError>(ctx.fence())));
    report(&runtime, "tako run", || LOCK.run(&ctx, async |ctx| Ok::<_, LockError>(ctx.fence())));
    let client = runtime.block_on(LockClient::connect(LockConfig::default())).expect("an in-memory client");
    report(&runtime, "ash-lock acquire + unlock", || async {
        let guard = client.lock("bench").await.acquire().await.expect("it is free");
        guard.unlock().await.expect("it is held");
    });
    let mutex = tokio::sync::Mutex::new(());
    report(&runtime, "tokio Mutex", || async { drop(mutex.lock().await) });
}
