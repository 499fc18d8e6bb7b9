use tako::prelude::*;

type Context = Ctx;

#[tako::lock("import")]
async fn import(ctx: Context) -> Result<(), tako::LockError> {
    Ok(())
}

fn main() {}
