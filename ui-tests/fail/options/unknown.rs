use tako::prelude::*;

static WORK: Lock = lock!("reindex", colour = "red");

fn main() {}
