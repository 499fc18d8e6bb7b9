use tako::prelude::*;

static WORK: Lock = lock!("reindex", wait);

fn main() {}
