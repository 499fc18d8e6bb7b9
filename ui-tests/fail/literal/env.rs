use tako::prelude::*;

static WORK: Lock = lock!(env!("CARGO_PKG_NAME"));

fn main() {}
