use tako::prelude::*;

static WORK: Lock = lock!(name = "reindex");

fn main() {}
