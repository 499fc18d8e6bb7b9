use tako::prelude::*;

static WORK: Lock = lock!("ReIndex");

fn main() {}
