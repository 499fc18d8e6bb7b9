//! What the macros' expansions name. Not for users: anything here may change in any release.

use std::future::Future;

use crate::{Ctx, Declaration, Lock, LockError};

pub use inventory;
pub use tako_lock_macros::__lock as lock_macro;

/// One declaration, for `inventory`.
pub const fn declaration(name: &'static str, file: &'static str, line: u32, module: &'static str) -> Declaration {
    Declaration { name, file, line, module }
}

/// A lock under its name. The macros have checked it; this is the second fence, for whoever comes here by hand.
pub const fn lock(name: &'static str) -> Lock {
    assert!(
        crate::name_rules::check(name).is_ok(),
        "this is not a legal lock name: 1 to 64 of `a-z`, `0-9`, `-`; a letter first; no `-` last or doubled"
    );
    Lock::new(name)
}

/// Runs the body of a function under `#[tako::lock]`.
pub async fn run<R, F, Fut>(lock: &Lock, ctx: &Ctx, body: F) -> R
where
    R: Outcome,
    F: FnOnce(Ctx) -> Fut,
    Fut: Future<Output = R>,
{
    R::from_result(lock.run(ctx, async |ctx| body(ctx).await.into_result()).await)
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
    type Error: From<LockError>;
    /// The outcome as the `Result` that it is.
    fn into_result(self) -> Result<Self::Value, Self::Error>;
    /// And back.
    fn from_result(result: Result<Self::Value, Self::Error>) -> Self;
}

impl<T, E: CarriesLockError> Outcome for Result<T, E> {
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
    note = "docs: https://docs.rs/tako-lock/latest/tako/errors/#types"
)]
pub trait CarriesLockError: From<LockError> {}

#[diagnostic::do_not_recommend]
impl<E: From<LockError>> CarriesLockError for E {}
