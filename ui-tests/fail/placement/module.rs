#[tako::lock("reindex")]
mod shop {}

fn main() {}
