use tako::prelude::*;

#[tako::lock("reindex")]
async fn reindex(ctx: Ctx) -> Option<u32> {
    None
}

fn main() {}
