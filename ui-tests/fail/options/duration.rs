use tako::prelude::*;

static WORK: Lock = lock!("reindex", Duration::from_secs(60));

fn main() {}
