#[tako::lock("reindex")]
async fn reindex() -> Result<(), tako::LockError> {
    let size: u32 = "large";
    Ok(())
}

fn main() {}
