//! `#[tako::lock]` on every kind of `async fn`: it is the same function, under a lock.

use std::collections::HashMap;
use std::fmt::Display;
use std::future::Future;

use tako::prelude::*;

use crate::error::WorkError;

#[tako::lock("plain")]
async fn plain(ctx: Ctx) -> Result<(), tako::LockError> {
    drop(ctx);
    Ok(())
}

#[tako::lock("mutable-context")]
async fn mutable_context(mut ctx: Ctx) -> Result<(), WorkError> {
    ctx = ctx.clone();
    drop(ctx);
    Ok(())
}

#[tako::lock("unnamed-context")]
async fn unnamed_context(_: Ctx) -> Result<(), WorkError> {
    Ok(())
}

#[tako::lock("underscored-context")]
async fn underscored_context(_ctx: tako::Ctx) -> Result<(), WorkError> {
    Ok(())
}

#[tako::lock("early-return")]
async fn early_return(_ctx: Ctx, text: &str) -> Result<u32, WorkError> {
    if text.is_empty() {
        return Ok(0);
    }
    let number: u32 = text.parse()?;
    Ok(number + 1)
}

#[tako::lock("patterns")]
async fn patterns(
    _ctx: Ctx,
    (a, b): (u32, u32),
    [first, ..]: [u32; 3],
    mut total: u32,
) -> Result<u32, WorkError> {
    total += a + b + first;
    Ok(total)
}

#[tako::lock("generic")]
async fn generic<'a, T, F: Fn(&'a T) -> String + Send, const N: usize>(
    _ctx: Ctx,
    items: &'a [T; N],
    show: F,
) -> Result<HashMap<usize, String>, WorkError>
where
    T: Display + Sync,
{
    Ok(items.iter().map(show).enumerate().collect())
}

/// The `>` of `->` closes nothing, and the `(` after it does not begin the arguments.
#[tako::lock("arrow")]
async fn arrow<F: Fn(u32) -> (u32, u32)>(
    _ctx: Ctx,
    pair: F,
    last: fn() -> (u32, u32),
) -> Result<u32, WorkError> {
    let (a, b) = pair(last().1);
    Ok(a + b)
}

#[tako::lock("borrows")]
async fn borrows<'a>(_ctx: Ctx, longer: &'a str, shorter: &str) -> Result<&'a str, WorkError> {
    Ok(longer.strip_prefix(shorter).unwrap_or(longer))
}

#[tako::lock("impl-argument")]
async fn impl_argument(_ctx: Ctx, items: impl IntoIterator<Item = u32> + Send) -> Result<u32, WorkError> {
    Ok(items.into_iter().sum())
}

#[tako::lock("impl-result")]
async fn impl_result(_ctx: Ctx, up_to: u32) -> Result<impl Iterator<Item = u32>, WorkError> {
    Ok((0..up_to).map(|number| number * 2))
}

#[tako::lock("impl-function-result")]
async fn impl_function(_ctx: Ctx) -> Result<(impl Fn(u32) -> u32 + Send, u32), WorkError> {
    Ok((|number| number + 1, 41))
}

#[tako::lock("dynamic-error")]
async fn dynamic_error(_ctx: Ctx) -> Result<u32, Box<dyn std::error::Error + Send + Sync>> {
    Ok("7".parse()?)
}

type Fallible<T> = Result<T, WorkError>;

#[tako::lock("alias")]
async fn alias(_ctx: Ctx) -> Fallible<u32> {
    Ok(7)
}

#[tako::lock("error-parameter")]
async fn error_parameter<E: From<tako::LockError>>(_ctx: Ctx) -> Result<u32, E> {
    Ok(7)
}

/// A `>` in a return type that closes nothing.
struct Sized<const LARGE: bool>;

#[tako::lock("comparison")]
async fn comparison(_ctx: Ctx) -> Result<Sized<{ 2 > 1 }>, WorkError> {
    Ok(Sized)
}

/// A body that never ends well has no value of its type.
#[tako::lock("diverges")]
async fn diverges(ctx: Ctx) -> Result<std::convert::Infallible, WorkError> {
    drop(ctx);
    Err("x".parse::<u32>().unwrap_err())?
}

pub(crate) struct Shop<T> {
    items: Vec<T>,
}

impl<T: Clone + Send + Sync> Shop<T> {
    /// By reference.
    #[tako::lock("shop-first")]
    pub(crate) async fn first(&self, _ctx: Ctx) -> Result<Option<&T>, WorkError> {
        Ok(self.items.first())
    }

    /// By exclusive reference.
    #[tako::lock("shop-add")]
    async fn add(&mut self, _ctx: Ctx, item: T) -> Result<usize, WorkError> {
        self.items.push(item);
        Ok(self.items.len())
    }

    /// By value.
    #[tako::lock("shop-close")]
    async fn close(mut self, _ctx: Ctx) -> Result<Vec<T>, WorkError> {
        self.items.reverse();
        Ok(self.items)
    }

    /// By a smart pointer.
    #[tako::lock("shop-boxed")]
    async fn boxed(self: Box<Self>, _ctx: Ctx) -> Result<Self, WorkError> {
        Ok(*self)
    }
}

fn is_send<F: Future + Send>(future: F) -> F {
    future
}

#[tokio::test]
async fn functions_do_what_they_did() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let ctx = Ctx::background();
    is_send(plain(ctx.clone())).await?;
    mutable_context(ctx.clone()).await?;
    unnamed_context(ctx.clone()).await?;
    underscored_context(ctx.clone()).await?;
    assert_eq!(is_send(early_return(ctx.clone(), "")).await?, 0);
    assert_eq!(early_return(ctx.clone(), "41").await?, 42);
    assert!(matches!(early_return(ctx.clone(), "x").await, Err(WorkError::Number(_))));
    assert_eq!(patterns(ctx.clone(), (1, 2), [3, 0, 0], 4).await?, 10);
    assert_eq!(is_send(generic(ctx.clone(), &[1, 2], ToString::to_string)).await?[&1], "2");
    assert_eq!(arrow(ctx.clone(), |n| (n, n), || (0, 21)).await?, 42);
    assert_eq!(borrows(ctx.clone(), "longer", &String::from("lon")).await?, "ger");
    assert_eq!(impl_argument(ctx.clone(), [1, 2]).await?, 3);
    assert_eq!(impl_result(ctx.clone(), 3).await?.sum::<u32>(), 6);
    let (next, number) = impl_function(ctx.clone()).await?;
    assert_eq!(next(number), 42);
    assert_eq!(dynamic_error(ctx.clone()).await?, 7);
    assert_eq!(alias(ctx.clone()).await?, 7);
    assert_eq!(error_parameter::<WorkError>(ctx.clone()).await?, 7);
    comparison(ctx.clone()).await?;
    assert!(diverges(ctx).await.is_err());
    Ok(())
}

#[tokio::test]
async fn methods_do_what_they_did() -> Result<(), WorkError> {
    let ctx = Ctx::background();
    let mut shop = Shop { items: vec![1] };
    assert_eq!(is_send(shop.first(ctx.clone())).await?, Some(&1));
    assert_eq!(is_send(shop.add(ctx.clone(), 2)).await?, 2);
    let shop = Box::new(shop).boxed(ctx.clone()).await?;
    assert_eq!(shop.close(ctx).await?, [2, 1]);
    Ok(())
}

#[tokio::test]
async fn a_future_may_be_other_than_send() -> Result<(), WorkError> {
    #[tako::lock("not-send")]
    async fn not_send(ctx: Ctx, shared: std::rc::Rc<u32>) -> Result<u32, WorkError> {
        plain(ctx).await?;
        Ok(*shared)
    }
    assert_eq!(not_send(Ctx::background(), std::rc::Rc::new(7)).await?, 7);
    Ok(())
}
