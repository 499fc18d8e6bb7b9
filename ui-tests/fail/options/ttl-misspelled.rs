use tako::prelude::*;

static WORK: Lock = lock!("reindex", tll = 60);

fn main() {}
