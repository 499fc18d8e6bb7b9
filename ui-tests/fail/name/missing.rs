use tako::prelude::*;

static WORK: Lock = lock!();

fn main() {}
