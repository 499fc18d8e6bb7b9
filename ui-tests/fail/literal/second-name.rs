use tako::prelude::*;

static WORK: Lock = lock!("reindex", "rollup");

fn main() {}
