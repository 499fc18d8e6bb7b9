use tako::prelude::*;

static WORK: Lock = lock!("re–index");

fn main() {}
