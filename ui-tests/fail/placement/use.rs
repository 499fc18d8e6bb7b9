#[tako::lock("reindex")]
fn main() {}
