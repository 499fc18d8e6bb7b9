use tako::prelude::*;

trait Rebuild {
    #[tako::lock("rebuild")]
    async fn rebuild(&self, ctx: Ctx) -> Result<(), tako::LockError>;
}

fn main() {}
