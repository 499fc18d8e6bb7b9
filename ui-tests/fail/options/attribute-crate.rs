use tako::prelude::*;

#[tako::lock("reindex", crate = other)]
static WORK: Lock;

fn main() {}
