//! A function under two locks.

use tako::Engine;
use tako::prelude::*;

use crate::error::WorkError;

static UPPER: Lock = lock!("upper-lock");

#[tako::lock("upper-lock")]
#[tako::lock("lower-lock")]
async fn both(mut ctx: Ctx, number: u32) -> Result<u32, WorkError> {
    ctx = ctx.clone();
    drop(ctx);
    if number == 0 {
        return Ok(0);
    }
    Ok(number)
}

#[tokio::test]
async fn both_locks_are_declared_and_the_body_runs_once() -> Result<(), WorkError> {
    assert_eq!(both(Engine::memory().ctx(), 7).await?, 7);
    let names: Vec<&str> = tako::declared().into_iter().map(|declaration| declaration.name).collect();
    assert!(names.contains(&"upper-lock") && names.contains(&"lower-lock"));
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn the_lower_lock_is_taken_first() -> Result<(), WorkError> {
    let engine = Engine::memory();
    let ctx = engine.ctx();
    let waiting = UPPER.run(&ctx, async |_ctx| {
        let waiting = tokio::spawn(both(engine.ctx(), 7));
        tokio::time::sleep(std::time::Duration::from_secs(5)).await;
        assert!(
            engine.inspect("lower-lock").await?.is_some(),
            "it waits for the upper lock, holding the lower"
        );
        Ok::<_, WorkError>(waiting)
    });
    assert_eq!(waiting.await?.await.expect("it does not panic")?, 7);
    Ok(())
}
