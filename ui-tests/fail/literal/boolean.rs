use tako::prelude::*;

static WORK: Lock = lock!(true);

fn main() {}
