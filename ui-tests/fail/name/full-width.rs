use tako::prelude::*;

static WORK: Lock = lock!("ｒeindex");

fn main() {}
