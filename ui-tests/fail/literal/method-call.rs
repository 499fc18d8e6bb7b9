use tako::prelude::*;

static WORK: Lock = lock!("reindex".to_string());

fn main() {}
