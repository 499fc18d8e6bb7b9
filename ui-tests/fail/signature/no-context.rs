#[tako::lock("import")]
async fn import(feed: &str) -> Result<(), tako::LockError> {
    Ok(())
}

fn main() {}
