use tako::prelude::*;

const NAME: &str = "reindex";
static WORK: Lock = lock!(NAME);

fn main() {}
