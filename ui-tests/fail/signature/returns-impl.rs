use tako::prelude::*;

#[tako::lock("reindex")]
async fn reindex(ctx: Ctx) -> impl Iterator<Item = u32> {
    0..3
}

fn main() {}
