//! A function under two locks.

use tako::prelude::*;

use crate::error::WorkError;

#[tako::lock("outer-lock")]
#[tako::lock("inner-lock")]
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
    assert_eq!(both(Ctx::background(), 7).await?, 7);
    let names: Vec<&str> = tako::declared().into_iter().map(|declaration| declaration.name).collect();
    assert!(names.contains(&"outer-lock") && names.contains(&"inner-lock"));
    Ok(())
}
