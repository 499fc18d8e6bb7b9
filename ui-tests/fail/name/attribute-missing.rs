use tako::prelude::*;

#[tako::lock]
async fn reindex_all(ctx: Ctx) -> Result<(), tako::LockError> {
    Ok(())
}

fn main() {}
