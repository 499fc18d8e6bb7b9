use tako::prelude::*;

static WORK: Lock = lock!("reindex", ttl = 60);

fn main() {}
