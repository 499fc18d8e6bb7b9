use tako::prelude::*;

#[tako::lock("reindex")]
async fn reindex(ctx: Ctx) -> (u32, u32) {
    (1, 2)
}

fn main() {}
