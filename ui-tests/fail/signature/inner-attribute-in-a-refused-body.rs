#[tako::lock("reindex")]
async fn reindex() -> Result<(), tako::LockError> {
    #![allow(unused_variables)]
    let size = 1;
    Ok(())
}

fn main() {}
