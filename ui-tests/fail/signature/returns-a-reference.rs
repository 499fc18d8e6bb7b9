use tako::prelude::*;

#[tako::lock("reindex")]
async fn reindex(ctx: Ctx, feed: &str) -> &str {
    feed
}

fn main() {}
