use tako::prelude::*;

static WORK: Lock = lock!("reindex", 60);

fn main() {}
