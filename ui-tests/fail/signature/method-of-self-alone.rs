struct Shop;

impl Shop {
    #[tako::lock("sell")]
    async fn sell(&self) -> Result<(), tako::LockError> {
        Ok(())
    }
}

fn main() {}
