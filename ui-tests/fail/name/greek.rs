use tako::prelude::*;

static WORK: Lock = lock!("reinνoice");

fn main() {}
