use tako::prelude::*;

lock!("reindex");

fn main() {}
