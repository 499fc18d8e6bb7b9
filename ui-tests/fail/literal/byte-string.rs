use tako::prelude::*;

static WORK: Lock = lock!(b"reindex");

fn main() {}
