use tako::prelude::*;

static WORK: Lock = lock!("re\nindex");

fn main() {}
