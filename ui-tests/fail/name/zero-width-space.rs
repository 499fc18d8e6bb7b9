use tako::prelude::*;

static WORK: Lock = lock!("re\u{200b}index");

fn main() {}
