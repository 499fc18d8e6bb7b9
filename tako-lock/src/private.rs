//! What the macros' expansions name. Not for users: anything here may change in any release.

use std::future::Future;

use crate::{Ctx, Declaration, Lock, LockError};

pub use inventory;
pub use tako_lock_macros::__lock as lock;

/// One declaration, for `inventory`.
pub const fn declaration(
    name: &'static str,
    file: &'static str,
    line: u32,
    module: &'static str,
) -> Declaration {
    Declaration { name, file, line, module }
}

/// A lock under its name. The macros have checked it; this is the second fence, for whoever comes here by hand.
pub const fn named(name: &'static str) -> Lock {
    assert!(
        crate::name_rules::check(name).is_ok(),
        "this is not a legal lock name: 1 to 64 of `a-z`, `0-9`, `-`; a letter first; no `-` last or doubled"
    );
    Lock::new(name)
}

/// A cron under its name.
#[cfg(feature = "cron")]
pub const fn cron(name: &'static str, schedule: &'static str, zone: &'static str) -> crate::cron::Cron {
    crate::cron::Cron::new(name, schedule, zone)
}

/// Begins the body of a function under `#[tako::lock]`.
pub const fn body(lock: &'static Lock) -> Body {
    Body { lock }
}

/// A lock, and soon a body to run under it.
#[derive(Debug)]
pub struct Body {
    lock: &'static Lock,
}

impl Body {
    /// Checks the return type, here and nowhere else, so that a wrong one is told once.
    pub const fn returns<R>(self) -> Returning<R, R::Value, R::Error>
    where
        R: Outcome,
        R::Error: CarriesLockError,
    {
        Returning {
            lock: self.lock,
            into_result: R::into_result,
            from_result: R::from_result,
            carry: <R::Error as From<LockError>>::from,
        }
    }
}

/// A body whose return type is known to be a `Result` that can carry a `LockError`: functions instead of bounds.
#[derive(Debug)]
pub struct Returning<R, T, E> {
    lock: &'static Lock,
    into_result: fn(R) -> Result<T, E>,
    from_result: fn(Result<T, E>) -> R,
    carry: fn(LockError) -> E,
}

impl<R, T, E> Returning<R, T, E> {
    /// Checks the type of the context, for the same reason.
    pub fn with<C: Context>(self, ctx: &C) -> Ready<'_, R, T, E> {
        Ready { returning: self, ctx: ctx.ctx() }
    }
}

/// A body with nothing left to check.
#[derive(Debug)]
pub struct Ready<'a, R, T, E> {
    returning: Returning<R, T, E>,
    ctx: &'a Ctx,
}

impl<R, T, E> Ready<'_, R, T, E> {
    /// Runs the body holding the lock.
    pub async fn run<F, Fut>(self, body: F) -> R
    where
        F: FnOnce(Ctx) -> Fut,
        Fut: Future<Output = R>,
    {
        let Ready { returning: Returning { lock, into_result, from_result, carry }, ctx } = self;
        let done = lock.run(ctx, async |ctx| into_result(body(ctx).await).map_err(Failure::Body)).await;
        from_result(done.map_err(|failure| match failure {
            Failure::Body(error) => error,
            Failure::Lock(error) => carry(error),
        }))
    }
}

enum Failure<E> {
    Body(E),
    Lock(LockError),
}

impl<E> From<LockError> for Failure<E> {
    fn from(error: LockError) -> Self {
        Failure::Lock(error)
    }
}

/// The context, and nothing else that is called `Ctx`.
#[diagnostic::on_unimplemented(
    message = "a locked function takes the context first: `ctx: Ctx`, and `{Self}` is another type",
    label = "write `ctx: tako::Ctx`",
    note = "losing the lease cancels this context, and with it the work that was given it",
    note = "docs: https://docs.rs/tako-lock/latest/tako/errors/#types"
)]
pub trait Context {
    /// The context itself.
    fn ctx(&self) -> &Ctx;
}

impl Context for Ctx {
    fn ctx(&self) -> &Ctx {
        self
    }
}

/// What a function under `#[tako::lock]` returns.
#[diagnostic::on_unimplemented(
    message = "an `async fn` under `#[tako::lock]` returns a `Result`, not `{Self}`",
    label = "write `Result<{Self}, tako::LockError>`",
    note = "taking the lock can fail before the body runs; any error type with `From<tako::LockError>` will do",
    note = "docs: https://docs.rs/tako-lock/latest/tako/errors/#types"
)]
pub trait Outcome: Sized {
    /// What the body gives when it succeeds.
    type Value;
    /// What it gives when it fails.
    type Error;
    /// The outcome as the `Result` that it is.
    fn into_result(self) -> Result<Self::Value, Self::Error>;
    /// And back.
    fn from_result(result: Result<Self::Value, Self::Error>) -> Self;
}

#[diagnostic::do_not_recommend]
impl<T, E> Outcome for Result<T, E> {
    type Value = T;
    type Error = E;

    fn into_result(self) -> Result<T, E> {
        self
    }

    fn from_result(result: Result<T, E>) -> Self {
        result
    }
}

/// The error of such a function. A trait of its own only for the message: `From` has another.
#[diagnostic::on_unimplemented(
    message = "the error type `{Self}` cannot carry a `tako::LockError`",
    label = "taking the lock can fail before the body runs",
    note = "give `{Self}` a variant for it: `#[error(transparent)] Lock(#[from] tako::LockError)`",
    note = "a type parameter needs `From<tako::LockError>` among its bounds",
    note = "docs: https://docs.rs/tako-lock/latest/tako/errors/#types"
)]
pub trait CarriesLockError: From<LockError> {}

#[diagnostic::do_not_recommend]
impl<E: From<LockError>> CarriesLockError for E {}
