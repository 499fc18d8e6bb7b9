use tako::prelude::*;

static WORK: u32 = lock!("reindex");

fn main() {}
