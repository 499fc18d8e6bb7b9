use tako::prelude::*;

#[tako::lock("reindex", "rollup")]
async fn reindex(ctx: Ctx) -> Result<(), tako::LockError> {
    Ok(())
}

fn main() {}
