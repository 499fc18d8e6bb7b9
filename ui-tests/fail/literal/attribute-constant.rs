use tako::prelude::*;

const NAME: &str = "reindex";
#[tako::lock(NAME)]
static WORK: Lock;

fn main() {}
