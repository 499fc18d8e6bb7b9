//! The only names that exist are the user's own.

use tako::prelude::*;

use crate::error::WorkError;

static LOCK: u32 = 1;

/// Names that an expansion might use, and prelude names that mean something else here.
#[tako::lock("hygiene")]
async fn names(ctx: Ctx, out: u32, lock: u32, run: u32) -> Result<u32, WorkError> {
    drop(ctx);
    Ok(LOCK + out + lock + run)
}

mod shadowed {
    #![allow(dead_code, reason = "they are here to be in the way")]

    use crate::error::WorkError;

    struct Ok;
    struct Some;
    struct Option;
    struct Box;
    mod core {}
    mod std {}

    #[tako::lock("shadowed-static")]
    pub(crate) static SHADOWED: tako::Lock;

    #[tako::lock("shadowed")]
    pub(crate) async fn shadowed(ctx: tako::Ctx) -> Result<u32, WorkError> {
        drop(ctx);
        Result::Ok(7)
    }
}

/// The argument of the outer function has the name of the context, and still is another.
#[tako::lock("same-name")]
async fn same_name(_ctx: Ctx, ctx: u32) -> Result<u32, WorkError> {
    Ok(ctx)
}

#[tako::lock("raw-names")]
async fn r#async(r#fn: Ctx, r#type: u32) -> Result<u32, WorkError> {
    drop(r#fn);
    Ok(r#type)
}

#[tokio::test]
async fn nothing_is_shadowed() -> Result<(), WorkError> {
    assert_eq!(names(Ctx::background(), 1, 2, 3).await?, 7);
    assert_eq!(same_name(Ctx::background(), 7).await?, 7);
    assert_eq!(r#async(Ctx::background(), 7).await?, 7);
    assert_eq!(shadowed::shadowed(Ctx::background()).await?, 7);
    assert_eq!(shadowed::SHADOWED.name(), "shadowed-static");
    Ok(())
}
