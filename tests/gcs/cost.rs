//! What a lease costs, in requests, as the server counts them. `docs/cloud.md` has the table with its prices.

use std::time::Duration;

use tako::prelude::{Ctx, Lock, lock};
use tako::{Engine, LockError, policy};
use tako_lock_tests::gcs_double::{Bucket, Counts};
use tako_lock_tests::gcs_engine::{SHORT, engine};
use tako_lock_tests::gcs_server::DOUBLE;

static LOCK: Lock = lock!("reindex");
static OTHER_LOCK: Lock = lock!("rollup");

const NOTHING: Counts = Counts { loads: 0, clocks: 0, claims: 0, beats: 0, releases: 0, others: 0 };
/// One window with work so short that no heartbeat falls due.
const WINDOW: Counts = Counts { claims: 1, releases: 1, ..NOTHING };

/// A process whose connection stands, and which has not asked for anything yet.
async fn process(bucket: &Bucket, name: &str, label: &str) -> Engine {
    let engine = engine(&DOUBLE.endpoint(), name, label, SHORT).await;
    bucket.forget();
    engine
}

/// What `work` costs.
async fn cost(bucket: &Bucket, work: impl Future<Output = Result<(), LockError>>) -> Counts {
    bucket.forget();
    work.await.expect("the store is well");
    bucket.counts()
}

async fn window(lock: &Lock, engine: &Engine) -> Result<(), LockError> {
    lock.run(&engine.ctx(), async |ctx| ctx.check()).await
}

async fn attempt(engine: &Engine) -> Result<(), LockError> {
    let ran = LOCK.try_run(&engine.ctx(), async |_| Ok::<_, LockError>(())).await?;
    assert_eq!(ran, None, "somebody else has it");
    Ok(())
}

/// Until told to stop.
async fn hold(ctx: Ctx) -> Result<(), LockError> {
    ctx.cancelled().await;
    Ok(())
}

#[tokio::test]
async fn a_window_is_two_writes_and_the_first_one_a_read_and_a_question_for_the_time_as_well() {
    let bucket = DOUBLE.bucket("cost-window");
    let web_1 = process(&bucket, "cost-window", "web-1").await;
    // Once for each process: the store's time, which is a write.
    let first = Counts { loads: 1, clocks: 1, ..WINDOW };
    assert_eq!(cost(&bucket, window(&LOCK, &web_1)).await, first);
    for _ in 0..100 {
        assert_eq!(cost(&bucket, window(&LOCK, &web_1)).await, WINDOW);
    }
    // Once for each lock: its record.
    let first_of_lock = Counts { loads: 1, ..WINDOW };
    assert_eq!(cost(&bucket, window(&OTHER_LOCK, &web_1)).await, first_of_lock);

    let web_2 = process(&bucket, "cost-window", "web-2").await;
    assert_eq!(cost(&bucket, window(&LOCK, &web_2)).await, first);
    // The free record that the first one remembers is not the present one any more: one refusal, and one look.
    let overtaken = Counts { loads: 1, claims: 2, releases: 1, ..NOTHING };
    assert_eq!(cost(&bucket, window(&LOCK, &web_1)).await, overtaken);
}

#[tokio::test]
async fn a_contended_attempt_is_one_read() {
    let bucket = DOUBLE.bucket("cost-attempt");
    let holder = process(&bucket, "cost-attempt", "web-1").await;
    let rival = process(&bucket, "cost-attempt", "web-2").await;
    let ctx = holder.ctx();
    let held = LOCK.run(&ctx, async |_| {
        // Whether a record has expired is judged by the store's time.
        let first = Counts { loads: 1, clocks: 1, ..NOTHING };
        assert_eq!(cost(&bucket, attempt(&rival)).await, first);
        for _ in 0..10 {
            assert_eq!(cost(&bucket, attempt(&rival)).await, Counts { loads: 1, ..NOTHING });
        }
        // Within one process nobody asks the store.
        assert_eq!(cost(&bucket, attempt(&holder)).await, NOTHING);
        Ok::<_, LockError>(())
    });
    held.await.unwrap();
}

#[tokio::test]
async fn a_held_lock_costs_one_write_for_each_heartbeat() {
    let bucket = DOUBLE.bucket("cost-hold");
    let holder = process(&bucket, "cost-hold", "web-1").await;
    window(&LOCK, &holder).await.unwrap();
    let ctx = holder.ctx();
    let held = LOCK.run(&ctx, async |ctx| {
        ctx.until_cancelled(tokio::time::sleep(SHORT.heartbeat * 7 / 2)).await;
        ctx.check()
    });
    assert_eq!(cost(&bucket, held).await, Counts { beats: 3, ..WINDOW });
    // So many a heartbeat, and so many heartbeats an hour.
    assert_eq!(Duration::from_hours(1).as_secs() / policy::HEARTBEAT.as_secs(), 360);
}

/// What waiting costs a process in which so many tasks wait, and how long they did.
async fn waiting(name: &str, waiters: usize) -> (Counts, Duration) {
    let bucket = DOUBLE.bucket(name);
    let holder = process(&bucket, name, "web-1").await;
    let rival = process(&bucket, name, "web-2").await;
    let (held, over) = (holder.ctx(), rival.ctx().child());
    LOCK.run(&held, async |_| {
        let waits = (0..waiters).map(|_| {
            let ctx = over.clone();
            async move { LOCK.run(&ctx, hold).await }
        });
        bucket.forget();
        let from = tokio::time::Instant::now();
        let waiting: tokio::task::JoinSet<_> = waits.collect();
        tokio::time::sleep(SHORT.poll * 10).await;
        over.cancel();
        for ended in waiting.join_all().await {
            assert!(matches!(ended, Err(LockError::Cancelled(_))), "{ended:?}");
        }
        let spent = (bucket.counts(), from.elapsed());
        Ok::<_, LockError>(spent)
    })
    .await
    .unwrap()
}

#[tokio::test]
async fn a_hundred_waiters_of_one_process_cost_what_one_does() {
    for (name, waiters) in [("cost-one", 1), ("cost-hundred", 100)] {
        let (counts, time) = waiting(name, waiters).await;
        // The shortest pause between two looks is three quarters of a poll.
        let looks = time.as_micros() / (SHORT.poll * 3 / 4).as_micros() + 1;
        assert!(
            counts.loads >= 5 && counts.loads as u128 <= looks,
            "{waiters} waiters: {counts:?} in {time:?}"
        );
        // The holder's heartbeats are counted as well.
        let rest = Counts { loads: 0, beats: 0, ..counts };
        assert_eq!(rest, Counts { clocks: 1, ..NOTHING }, "{waiters} waiters");
    }
}
