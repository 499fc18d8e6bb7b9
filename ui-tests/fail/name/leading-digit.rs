use tako::prelude::*;

static WORK: Lock = lock!("2-phase");

fn main() {}
