use tako::prelude::*;

#[tako::lock("reindex")]
async fn reindex(ctx: Ctx) -> u32 {
    7
}

fn main() {}
