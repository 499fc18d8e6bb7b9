use tako::prelude::*;

macro_rules! declare {
    ($name:ident, $work:expr) => {
        static $name: Lock = lock!($work);
    };
}

const NAME: &str = "reindex";
declare!(WORK, NAME);

fn main() {}
