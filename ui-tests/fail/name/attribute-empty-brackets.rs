use tako::prelude::*;

#[tako::lock()]
static WORK: Lock;

fn main() {}
