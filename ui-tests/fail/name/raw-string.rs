use tako::prelude::*;

static WORK: Lock = lock!(r#"ReIndex"#);

fn main() {}
