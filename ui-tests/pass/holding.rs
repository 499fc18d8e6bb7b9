//! A function under `#[tako::lock]` holds the very lock that a `static` of the same name means.

use tako::prelude::*;
use tako::{Engine, LockError};

use crate::error::WorkError;

static IMPORT: Lock = lock!("holding-import");

#[tako::lock("holding-import")]
async fn import(ctx: Ctx, engine: &Engine) -> Result<Option<()>, WorkError> {
    assert!(ctx.fence().is_some(), "the body's context stands for the hold");
    let elsewhere = engine.ctx();
    IMPORT.try_run(&elsewhere, async |_ctx| Ok(())).await
}

#[tokio::test]
async fn the_body_runs_holding_the_lock() -> Result<(), WorkError> {
    let engine = Engine::memory();
    assert_eq!(import(engine.ctx(), &engine).await?, None, "it is held while the body runs");
    let after = IMPORT.try_run(&engine.ctx(), async |_ctx| Ok::<_, WorkError>(())).await?;
    assert_eq!(after, Some(()), "and given back when it ends");
    Ok(())
}

#[tokio::test]
async fn a_lock_that_is_not_had_is_the_callers_error() {
    let engine = Engine::memory();
    let ctx = engine.ctx();
    ctx.cancel();
    let refused = import(ctx, &engine).await;
    assert!(matches!(refused, Err(WorkError::Lock(LockError::Cancelled(_)))), "{refused:?}");
}
