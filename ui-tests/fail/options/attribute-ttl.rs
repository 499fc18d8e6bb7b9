use tako::prelude::*;

#[tako::lock("reindex", ttl = 60)]
async fn reindex(ctx: Ctx) -> Result<(), tako::LockError> {
    Ok(())
}

fn main() {}
