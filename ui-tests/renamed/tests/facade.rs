//! The program knows the library through a facade only, and through another name without saying so at its root.

mod through_a_facade {
    use facade::tako::{self, prelude::*};

    pub(crate) static RELOCK: Lock = lock!("reindex");

    #[tako::lock("rollup")]
    pub(crate) static ROLLUP: Lock;

    #[tako::lock("import")]
    pub(crate) async fn import(ctx: Ctx) -> Result<u32, tako::LockError> {
        drop(ctx);
        Ok(7)
    }
}

mod by_another_name {
    // Without any `tako`: `lock!` knows its own crate.
    pub(crate) static RELOCK: locks::Lock = locks::prelude::lock!("reindex");
}

#[tokio::test]
async fn both_macros_work() -> Result<(), facade::tako::LockError> {
    assert_eq!(through_a_facade::RELOCK.name(), "reindex");
    assert_eq!(through_a_facade::ROLLUP.name(), "rollup");
    assert_eq!(by_another_name::RELOCK.name(), "reindex");
    assert_eq!(through_a_facade::import(facade::tako::Ctx::background()).await?, 7);
    Ok(())
}
