use tako::prelude::*;

#[tako::lock("reindex")]
static WORK: Lock = lock!("reindex");

fn main() {}
