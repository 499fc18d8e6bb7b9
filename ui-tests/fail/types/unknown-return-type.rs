use tako::prelude::*;

fn todo<T>() -> T {
    loop {}
}

#[tako::lock("reindex")]
async fn reindex(ctx: Ctx) -> Result<Unknown, tako::LockError> {
    todo()
}

fn main() {}
