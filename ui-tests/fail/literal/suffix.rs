use tako::prelude::*;

static WORK: Lock = lock!("reindex"s);

fn main() {}
