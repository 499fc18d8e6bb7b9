use tako::prelude::*;

#[tako::lock("reindex")]
async fn reindex<E: Send>(ctx: Ctx) -> Result<(), E> {
    Ok(())
}

fn main() {}
