//! The dependency has another name in Cargo.toml; one line at the root serves every module of the program.

extern crate locks as tako;

use locks::prelude::*;

static RELOCK: Lock = lock!("reindex");

mod deep {
    pub(crate) mod deeper {
        #[tako::lock("import")]
        pub(crate) async fn import(ctx: locks::Ctx) -> Result<u32, locks::LockError> {
            drop(ctx);
            Ok(7)
        }
    }
}

#[tokio::test]
async fn the_attribute_works_in_every_module() -> Result<(), locks::LockError> {
    assert_eq!(RELOCK.name(), "reindex");
    assert_eq!(deep::deeper::import(Ctx::background()).await?, 7);
    Ok(())
}
