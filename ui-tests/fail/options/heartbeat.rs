use tako::prelude::*;

static WORK: Lock = lock!("reindex", heartbeat = 5);

fn main() {}
