//! `#[tako::lock]` inside traits and their `impl`s.

use tako::prelude::*;

use crate::error::WorkError;

trait Rebuild {
    type Report;

    async fn rebuild(&self, ctx: Ctx) -> Result<Self::Report, WorkError>;

    #[tako::lock("rebuild-default")]
    async fn rebuild_twice(&self, ctx: Ctx) -> Result<(Self::Report, Self::Report), WorkError> {
        Ok((self.rebuild(ctx.clone()).await?, self.rebuild(ctx).await?))
    }
}

struct Index(u32);

impl Rebuild for Index {
    type Report = u32;

    #[tako::lock("rebuild-index")]
    async fn rebuild(&self, _ctx: Ctx) -> Result<Self::Report, WorkError> {
        Ok(self.0)
    }
}

#[async_trait::async_trait]
trait Boxed {
    async fn boxed(&self, ctx: Ctx) -> Result<u32, WorkError>;
}

/// The way out that the message for `#[async_trait]` names.
#[tako::lock("rebuild-boxed")]
async fn locked(ctx: Ctx, index: &Index) -> Result<u32, WorkError> {
    index.rebuild(ctx).await
}

#[async_trait::async_trait]
impl Boxed for Index {
    async fn boxed(&self, ctx: Ctx) -> Result<u32, WorkError> {
        locked(ctx, self).await
    }
}

#[tokio::test]
async fn trait_functions_run_under_their_locks() -> Result<(), WorkError> {
    let index = Index(7);
    assert_eq!(index.rebuild_twice(Ctx::background()).await?, (7, 7));
    let boxed: &dyn Boxed = &index;
    assert_eq!(boxed.boxed(Ctx::background()).await?, 7);
    Ok(())
}
