use tako::prelude::*;

static WORK: Lock = lock!("re_index");

fn main() {}
