use tako::prelude::*;

static WORK: Lock = lock!("reindex", reentrant);

fn main() {}
