use tako::prelude::*;

static WORK: Lock = lock!("re\0index");

fn main() {}
