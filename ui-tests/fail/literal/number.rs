use tako::prelude::*;

static WORK: Lock = lock!(42);

fn main() {}
