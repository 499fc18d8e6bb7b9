use tako::prelude::*;

static WORK: Lock = lock!("reindex", bucket = "my-bucket");

fn main() {}
