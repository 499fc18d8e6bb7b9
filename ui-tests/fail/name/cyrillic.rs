use tako::prelude::*;

static WORK: Lock = lock!("rеindex");

fn main() {}
