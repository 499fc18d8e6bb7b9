use tako::prelude::*;

static WORK: Lock = lock!("reindex", ttl = 60, wait, retries = 3);

fn main() {}
