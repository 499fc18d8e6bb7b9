use tako::prelude::*;

#[tako::lock("reindex")]
const WORK: Lock = lock!("reindex");

fn main() {}
