use tako::prelude::*;

struct MyError;

#[tako::lock("reindex")]
async fn reindex(ctx: Ctx) -> Result<(), MyError> {
    Ok(())
}

fn main() {}
