use tako::prelude::*;

static WORK: Lock = lock!("reindex", Options::new().ttl(60));

fn main() {}
