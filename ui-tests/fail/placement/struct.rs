#[tako::lock("reindex")]
pub struct Shop {
    name: String,
}

fn main() {}
