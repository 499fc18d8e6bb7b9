#[tako::lock("reindex")]
trait Shop {}

fn main() {}
