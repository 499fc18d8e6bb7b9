use tako::prelude::*;

mod config {
    pub const NAME: &str = "reindex";
}
static WORK: Lock = lock!(config::NAME);

fn main() {}
