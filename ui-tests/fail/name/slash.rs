use tako::prelude::*;

static WORK: Lock = lock!("tenant/reindex");

fn main() {}
