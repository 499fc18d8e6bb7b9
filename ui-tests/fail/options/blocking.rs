use tako::prelude::*;

static WORK: Lock = lock!("reindex", blocking = false);

fn main() {}
