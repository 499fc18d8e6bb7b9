mod other {
    pub struct Ctx;
}

#[tako::lock("reindex")]
async fn reindex(ctx: other::Ctx) -> Result<(), tako::LockError> {
    Ok(())
}

fn main() {}
