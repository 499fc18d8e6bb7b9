//! One uncontended acquire and release in memory, beside a plain mutex (the floor) and a peer.
//!
//! `cargo bench -p tako-lock --bench uncontended`
#![allow(missing_docs, reason = "criterion's macros make items without docs")]

use std::hint::black_box;
use std::time::Duration;

use ash_lock::{LockClient, LockConfig};
use criterion::{Criterion, criterion_group, criterion_main};
use tako::prelude::*;
use tako::{Engine, LockError};

static LOCK: Lock = lock!("bench");

fn uncontended(criterion: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let mut group = criterion.benchmark_group("uncontended");
    group.warm_up_time(Duration::from_secs(1)).measurement_time(Duration::from_secs(4));

    let engine = Engine::memory();
    group.bench_function("tako try_run", |bencher| {
        let ctx = engine.ctx();
        bencher.to_async(&runtime).iter(|| async {
            black_box(LOCK.try_run(&ctx, async |ctx| Ok::<_, LockError>(ctx.fence())).await).ok()
        });
    });
    group.bench_function("tako run", |bencher| {
        let ctx = engine.ctx();
        bencher.to_async(&runtime).iter(|| async {
            black_box(LOCK.run(&ctx, async |ctx| Ok::<_, LockError>(ctx.fence())).await).ok()
        });
    });

    let client = runtime.block_on(LockClient::connect(LockConfig::default())).expect("an in-memory client");
    group.bench_function("ash-lock acquire + unlock", |bencher| {
        bencher.to_async(&runtime).iter(|| async {
            let guard = client.lock("bench").await.acquire().await.ok()?;
            black_box(guard.fencing_token()).ok()?;
            guard.unlock().await.ok()
        });
    });

    let mutex = tokio::sync::Mutex::new(0_u64);
    group.bench_function("tokio Mutex", |bencher| {
        bencher.to_async(&runtime).iter(|| async { *black_box(mutex.lock().await) += 1 });
    });
    group.finish();
}

criterion_group!(benches, uncontended);
criterion_main!(benches);
