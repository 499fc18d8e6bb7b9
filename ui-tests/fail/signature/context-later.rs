use tako::prelude::*;

#[tako::lock("import")]
async fn import(feed: &str, ctx: Ctx) -> Result<(), tako::LockError> {
    Ok(())
}

fn main() {}
