use tako::prelude::*;

#[tako::lock(reindex)]
async fn reindex(ctx: Ctx) -> Result<(), tako::LockError> {
    Ok(())
}

fn main() {}
