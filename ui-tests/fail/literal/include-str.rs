use tako::prelude::*;

static WORK: Lock = lock!(include_str!("name.txt"));

fn main() {}
