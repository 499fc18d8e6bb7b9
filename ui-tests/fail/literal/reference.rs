use tako::prelude::*;

static WORK: Lock = lock!(&"reindex");

fn main() {}
