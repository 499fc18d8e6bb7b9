use tako::prelude::*;

use std::sync::Arc;

#[tako::lock("import")]
async fn import<T>(ctx: Arc<Ctx>, feed: T) -> Result<(), tako::LockError> {
    Ok(())
}

fn main() {}
