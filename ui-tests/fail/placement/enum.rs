#[tako::lock("reindex")]
enum Shop {
    Open,
}

fn main() {}
