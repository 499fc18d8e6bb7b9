use tako::prelude::*;

static WORK: Lock = lock!(String::from("reindex"));

fn main() {}
