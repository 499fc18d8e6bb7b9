struct Shop;

impl Shop {
    #[tako::lock("sell")]
    async fn sell(&mut self, item: u32) -> Result<(), tako::LockError> {
        Ok(())
    }
}

fn main() {}
