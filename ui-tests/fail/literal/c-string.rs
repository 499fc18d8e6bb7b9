use tako::prelude::*;

static WORK: Lock = lock!(c"reindex");

fn main() {}
