#[tako::lock("reindex", ttl = 60)]
struct Shop;

fn main() {}
