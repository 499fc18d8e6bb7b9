use tako::prelude::*;

static WORK: Lock = lock!(reindex_all);

fn main() {}
