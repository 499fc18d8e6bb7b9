//! What a program that uses locks wants to have at hand.
//!
//! ```
//! use tako::prelude::*;
//!
//! static RELOCK: Lock = lock!("reindex");
//!
//! async fn reindex(ctx: Ctx) -> Result<bool, tako::LockError> {
//!     // `None`: somebody else is at it.
//!     let ran = RELOCK.try_run(&ctx, async |_ctx| Ok::<_, tako::LockError>(())).await?;
//!     Ok(ran.is_some())
//! }
//! ```
//!
//! The macro `lock!` is here only: at the root of the crate, `tako::lock` is the attribute [`#[tako::lock]`](macro@crate::lock),
//! and the two cannot share a path.

pub use crate::{Ctx, Lock};

#[doc(inline)]
pub use crate::__lock as lock;

/// Declares a lock by its name.
///
/// ```
/// use tako::prelude::*;
///
/// static RELOCK: Lock = lock!("reindex");
///
/// assert_eq!(RELOCK.name(), "reindex");
/// ```
///
/// The name is a string literal: 1 to 64 of `a-z`, `0-9`, `-`; a letter first; no `-` last or doubled. It is the lock's
/// identity: two declarations of one name, in any crates of the program, are the same lock. [`declared()`](crate::declared)
/// lists all of them, so this value belongs into a `static`, although it is an expression like any other.
///
/// There are no options. How to wait is chosen where the lock is taken, with [`run`](crate::Lock::run) or
/// [`try_run`](crate::Lock::try_run); how the lease is kept is the framework's affair. The compiler says so:
///
/// ```compile_fail
/// # use tako::prelude::*;
/// static RELOCK: Lock = lock!("reindex", ttl = 60);
/// ```
/// ```text
/// error: `lock!` takes a name and no options, found `ttl`
///          = help: remove it: `lock!("reindex")`
///          = help: work of any length keeps the lock: it is renewed while your code runs, and freed within about half a
///                  minute of a crash
/// ```
///
/// [`tako::errors`](crate::errors) explains each message.
#[doc(hidden)]
#[macro_export]
macro_rules! __lock {
    ($($arguments:tt)*) => {
        $crate::__private::lock! { $crate $($arguments)* }
    };
}
