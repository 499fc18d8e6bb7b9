use tako::prelude::*;

#[tako::lock("reindex")]
fn reindex(ctx: Ctx) -> Result<(), tako::LockError> {
    Ok(())
}

fn main() {}
