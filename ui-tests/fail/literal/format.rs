use tako::prelude::*;

static WORK: Lock = lock!(format!("tenant-{}", 7));

fn main() {}
