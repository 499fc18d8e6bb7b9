use tako::prelude::*;

static WORK: Lock = lock!("re" + NAME);

fn main() {}
