use tako::prelude::*;

#[tako::lock("reindex")]
async fn reindex(ctx: Ctx) -> Result<u32, tako::LockError> {
    drop(ctx);
}

fn main() {}
