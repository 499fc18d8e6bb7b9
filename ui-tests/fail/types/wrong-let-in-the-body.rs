use tako::prelude::*;

#[tako::lock("reindex")]
async fn reindex(ctx: Ctx) -> Result<(), tako::LockError> {
    let size: u32 = "large";
    drop(size);
    Ok(())
}

fn main() {}
