struct Shop;

#[tako::lock("reindex")]
impl Shop {}

fn main() {}
