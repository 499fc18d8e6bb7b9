//! The public promises of `run` and `try_run`, on paused time.

use std::time::Duration;

use tako::prelude::*;
use tako::{Engine, LockError};

static LOCK: Lock = lock!("reindex");

#[tokio::test(start_paused = true)]
async fn a_long_hold_is_kept_up() {
    let engine = Engine::memory();
    let start = tokio::time::Instant::now();
    LOCK.run(&engine.ctx(), async |ctx| {
        for _ in 0..100 {
            tokio::time::sleep(Duration::from_secs(5)).await;
            ctx.check()?;
            assert!(LOCK.try_run(&engine.ctx(), async |_| Ok::<_, LockError>(())).await?.is_none());
        }
        Ok::<_, LockError>(())
    })
    .await
    .unwrap();
    assert_eq!(start.elapsed(), Duration::from_secs(500));
    assert_eq!(engine.inspect("reindex").await.unwrap(), None);
}
