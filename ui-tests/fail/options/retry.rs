use tako::prelude::*;

static WORK: Lock = lock!("reindex", retries = 3);

fn main() {}
