use tako::prelude::*;

static WORK: Lock = lock!("reindex", timeout = 5);

fn main() {}
