#[tako::lock("reindex")]
static WORK: u32;

fn main() {}
