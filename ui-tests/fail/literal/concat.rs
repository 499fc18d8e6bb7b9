use tako::prelude::*;

static WORK: Lock = lock!(concat!("re", "index"));

fn main() {}
