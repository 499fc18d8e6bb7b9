use tako::prelude::*;

#[tokio::main(flavor = "current_thread")]
#[tako::lock("nightly")]
async fn reindex(ctx: Ctx) -> Result<(), tako::LockError> {
    Ok(())
}

fn main() {}
