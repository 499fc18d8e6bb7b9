//! Other attributes beside ours, outside and inside, and functions made by macros.

use tako::prelude::*;

use crate::error::WorkError;

/// The documentation, the attributes and the visibility stay.
#[must_use]
#[allow(clippy::unused_async, reason = "it is about attributes")]
#[tako::lock("attributes-around")]
#[inline]
#[deprecated = "to be seen in a warning"]
pub(crate) async fn around(_ctx: Ctx, #[allow(unused_variables)] unused: u32) -> Result<u32, WorkError> {
    Ok(7)
}

#[tako::lock("attributes-inside")]
async fn inside(_ctx: Ctx) -> Result<u32, WorkError> {
    //! Documentation from the inside.
    #![allow(unused_mut)]
    let mut number = 7;
    Ok(number)
}

#[tako::lock("attributes-under-a-function")]
#[allow(dead_code)]
async fn never_called(_ctx: Ctx) -> Result<(), WorkError> {
    Ok(())
}

#[tako::lock("attributes-above-tokio")]
#[tokio::main(flavor = "current_thread")]
async fn blocking(ctx: Ctx) -> Result<u32, WorkError> {
    drop(ctx);
    Ok(7)
}

macro_rules! function {
    ($(#[$meta:meta])* $visibility:vis fn $name:ident($($argument:ident: $ty:ty),*) -> $output:ty $body:block) => {
        $(#[$meta])*
        #[tako::lock("made-by-a-macro")]
        $visibility async fn $name($($argument: $ty),*) -> $output $body
    };
    (item $item:item) => {
        #[tako::lock("item-by-a-macro")]
        $item
    };
}
function! {
    /// Documented.
    pub(crate) fn made(ctx: Ctx, number: u32) -> Result<u32, WorkError> {
        drop(ctx);
        Ok(number)
    }
}
function! {
    item async fn item(_ctx: Ctx) -> Result<u32, WorkError> {
        Ok(7)
    }
}

#[tokio::test]
async fn attributes_stay() -> Result<(), WorkError> {
    #[expect(deprecated, reason = "the attribute is kept")]
    let around = around(Ctx::background(), 1);
    assert_eq!(around.await?, 7);
    assert_eq!(inside(Ctx::background()).await?, 7);
    assert_eq!(made(Ctx::background(), 7).await?, 7);
    assert_eq!(item(Ctx::background()).await?, 7);
    Ok(())
}

#[test]
fn the_runtime_goes_below() -> Result<(), WorkError> {
    assert_eq!(blocking(Ctx::background())?, 7);
    Ok(())
}
