use tako::prelude::*;

static WORK: Lock = lock!(-1);

fn main() {}
