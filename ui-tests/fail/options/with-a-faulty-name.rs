use tako::prelude::*;

static WORK: Lock = lock!("ReIndex", ttl = 60);

fn main() {}
