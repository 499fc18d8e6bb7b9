use tako::prelude::*;

#[tako::lock("ReIndex")]
async fn reindex(ctx: Ctx) -> Result<(), tako::LockError> {
    Ok(())
}

fn main() {}
