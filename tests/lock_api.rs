//! `run` and `try_run` as callers meet them: what infers, what borrows, what is `Send`, and whose error comes out.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use tako::prelude::*;
use tako::{CancelCause, Engine, LockError};

static LOCK: Lock = lock!("reindex");

#[derive(Debug, thiserror::Error)]
enum WorkError {
    #[error("the work itself failed")]
    Own,
    #[error(transparent)]
    Lock(#[from] LockError),
}

fn is_send<T: Send>(value: T) -> T {
    value
}

#[tokio::test(start_paused = true)]
async fn both_forms_of_closure_infer_borrow_and_are_send() {
    let ctx = Engine::memory().ctx();
    let (word, mut seen) = (String::from("seven"), Vec::new());
    let length = is_send(LOCK.run(&ctx, async |_ctx| Ok::<_, LockError>(word.len()))).await.unwrap();
    let ran = is_send(LOCK.try_run(&ctx, |ctx: Ctx| {
        let seen = &mut seen;
        async move {
            seen.push(ctx.fence().is_some());
            ctx.check()?;
            Ok::<_, WorkError>(length)
        }
    }))
    .await;
    assert_eq!(ran.unwrap(), Some(5));
    assert_eq!((word.as_str(), seen), ("seven", vec![true]));
}

#[tokio::test(start_paused = true)]
async fn work_that_cannot_leave_its_thread_runs_as_well() {
    let ctx = Engine::memory().ctx();
    let count = Rc::new(Cell::new(0));
    LOCK.run(&ctx, async |_ctx| {
        count.set(count.get() + 1);
        tokio::task::yield_now().await;
        Ok::<_, LockError>(())
    })
    .await
    .unwrap();
    assert_eq!(count.get(), 1);
}

#[tokio::test(start_paused = true)]
async fn errors_of_both_kinds_come_out_in_the_callers_own_type() {
    let engine = Engine::memory();
    let ctx = engine.ctx();
    let own: Result<(), WorkError> = LOCK.run(&ctx, async |_ctx| Err(WorkError::Own)).await;
    assert!(matches!(own, Err(WorkError::Own)));

    let late = ctx.with_timeout(Duration::from_secs(5));
    let held: Result<(), WorkError> = LOCK
        .run(&ctx, async |_held| {
            let waited: Result<(), WorkError> = LOCK.run(&late, async |_ctx| Ok(())).await;
            let Err(WorkError::Lock(LockError::Cancelled(cancelled))) = waited else { panic!("{waited:?}") };
            assert_eq!((cancelled.cause(), cancelled.lock()), (CancelCause::TimedOut, Some("reindex")));
            assert_eq!(cancelled.waited(), Some(Duration::from_secs(5)));
            assert_eq!(cancelled.held_by().map(ToString::to_string), {
                let holder = engine.inspect("reindex").await?;
                holder.map(|holder| holder.owner.to_string())
            });
            Ok(())
        })
        .await;
    held.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_finds_it_held_collapses() {
    let engine = Engine::memory();
    LOCK.run(&engine.ctx(), async |_held| {
        for _ in 0..100 {
            tokio::time::sleep(Duration::from_secs(5)).await;
            let other = LOCK.try_run(&engine.ctx(), async |_ctx| Ok::<_, LockError>(())).await?;
            assert_eq!(other, None, "held for as long as the work takes");
        }
        Ok::<_, LockError>(())
    })
    .await
    .unwrap();
    assert_eq!(engine.inspect("reindex").await.unwrap(), None);
}

#[tokio::test(start_paused = true)]
async fn fences_grow_from_run_to_run() {
    let ctx = Engine::memory().ctx();
    let mut last = None;
    for _ in 0..10 {
        let fence = LOCK.run(&ctx, async |ctx| Ok::<_, LockError>(ctx.fence())).await.unwrap();
        assert!(fence > last, "{fence:?} after {last:?}");
        last = fence;
    }
    assert_eq!(ctx.fence(), None, "a fence belongs to a hold");
}

#[test]
fn every_declaration_of_the_program_is_listed() {
    let here = tako::declared().into_iter().find(|declaration| declaration.file.ends_with("lock_api.rs"));
    let here = here.expect("declared above");
    assert_eq!((here.name, here.module), ("reindex", "lock_api"));
    assert_eq!(here.name, LOCK.name());
}
