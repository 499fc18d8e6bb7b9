use tako::prelude::*;

static WORK: Lock = lock!(stringify!(reindex));

fn main() {}
