use tako::prelude::*;

#[tako::lock("import")]
async fn import(ctx: &Ctx, feed: &str) -> Result<(), tako::LockError> {
    Ok(())
}

fn main() {}
