struct Shop;

impl Shop {
    #[tako::lock("reindex")]
    const LIMIT: u32 = 1;
}

fn main() {}
