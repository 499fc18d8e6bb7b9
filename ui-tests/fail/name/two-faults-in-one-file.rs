use tako::prelude::*;

static ONE: Lock = lock!("One");
static TWO: Lock = lock!("two words");

fn main() {}
