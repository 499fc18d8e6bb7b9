use tako::prelude::*;

#[tako::lock("reindex")]
type Work = Lock;

fn main() {}
