use tako::prelude::*;

static WORK: Lock = lock!(concat!("re", env!("CARGO_PKG_NAME")));

fn main() {}
