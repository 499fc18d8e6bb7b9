#[tako::lock("ReIndex", ttl = 60)]
fn reindex(feed: &str) -> (u32, u32) {
    (1, 2)
}

fn main() {}
