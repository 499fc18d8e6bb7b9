use tako::prelude::*;

static WORK: Lock = lock!(name_of(7));

fn main() {}
