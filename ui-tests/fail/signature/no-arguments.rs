#[tako::lock("reindex")]
async fn reindex() -> Result<(), tako::LockError> {
    Ok(())
}

fn main() {}
