//! What compiles, and what it then does.
#![forbid(unsafe_code)]

use tako::LockError;
use tako::prelude::*;

static RELOCK: Lock = lock!("reindex");
#[tako::lock("rollup")]
static ROLLUP: Lock;

#[derive(Debug, thiserror::Error)]
enum MyError { #[error(transparent)] Lock(#[from] LockError) }

/// Doc.
#[tako::lock("import")]
pub(crate) async fn import<'a, T: Clone>(mut ctx: Ctx, feed: &'a str, (a, b): (u32, T)) -> Result<(&'a str, u32, T), MyError> where T: Send {
    ctx = ctx.clone();
    drop(ctx);
    if a == 0 { return Ok((feed, 1, b)); }
    Err(LockError)?;
    Ok((feed, a, b))
}
struct Shop { n: u32 }
impl Shop {
    #[tako::lock("sell")]
    async fn sell(&mut self, _: Ctx, by: u32) -> Result<&u32, MyError> { #![allow(unused)] self.n += by; Ok(&self.n) }
    #[tako::lock("iter")]
    async fn iter(&self, _ctx: tako::Ctx) -> Result<impl Iterator<Item = u32> + '_, MyError> { Ok((0..self.n).map(|x| x + 1)) }
}
fn send<T: Send>(t: T) -> T { t }

#[tokio::test]
async fn works() {
    let ctx = Ctx::background();
    assert_eq!(RELOCK.name(), "reindex");
    assert_eq!(ROLLUP.name(), "rollup");
    let x = send(import(ctx.clone(), "x", (0, 1u8))).await.unwrap();
    assert_eq!(x, ("x", 1, 1));
    let mut shop = Shop { n: 1 };
    assert_eq!(*send(shop.sell(ctx.clone(), 2)).await.unwrap(), 3);
    assert_eq!(send(shop.iter(ctx.clone())).await.unwrap().count(), 3);
    println!("{:?}", tako::declared());
}
