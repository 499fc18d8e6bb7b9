use tako::prelude::*;

static WORK: Lock = lock!("reindex", Options { ttl: 60, wait: true });

fn main() {}
