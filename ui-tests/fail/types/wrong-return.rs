use tako::prelude::*;

#[tako::lock("reindex")]
async fn reindex(ctx: Ctx, early: bool) -> Result<u32, tako::LockError> {
    if early {
        return "early";
    }
    Ok(7)
}

fn main() {}
