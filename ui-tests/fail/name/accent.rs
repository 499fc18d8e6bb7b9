use tako::prelude::*;

static WORK: Lock = lock!("réindex");

fn main() {}
