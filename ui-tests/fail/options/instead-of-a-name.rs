use tako::prelude::*;

static WORK: Lock = lock!(ttl = 60);

fn main() {}
