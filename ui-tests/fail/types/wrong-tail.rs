use tako::prelude::*;

#[tako::lock("reindex")]
async fn reindex(ctx: Ctx) -> Result<u32, tako::LockError> {
    let size = "large";
    size
}

fn main() {}
