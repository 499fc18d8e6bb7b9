use tako::prelude::*;

#[async_trait::async_trait]
trait Rebuild {
    async fn rebuild(&self, ctx: Ctx) -> Result<(), tako::LockError>;
}

struct Shop;

#[async_trait::async_trait]
impl Rebuild for Shop {
    #[tako::lock("rebuild")]
    async fn rebuild(&self, ctx: Ctx) -> Result<(), tako::LockError> {
        Ok(())
    }
}

fn main() {}
