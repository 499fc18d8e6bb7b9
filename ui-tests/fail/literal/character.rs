use tako::prelude::*;

static WORK: Lock = lock!('x');

fn main() {}
