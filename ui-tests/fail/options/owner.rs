use tako::prelude::*;

static WORK: Lock = lock!("reindex", owner = "me");

fn main() {}
