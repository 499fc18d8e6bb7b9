use tako::prelude::*;

macro_rules! declare {
    ($name:ident, $work:literal) => {
        static $name: Lock = lock!($work);
    };
}

declare!(WORK, "ReIndex");

fn main() {}
