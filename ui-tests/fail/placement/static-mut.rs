use tako::prelude::*;

#[tako::lock("reindex")]
static mut WORK: Lock;

fn main() {}
