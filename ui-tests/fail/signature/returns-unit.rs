use tako::prelude::*;

#[tako::lock("reindex")]
async fn reindex(ctx: Ctx) -> () {
}

fn main() {}
