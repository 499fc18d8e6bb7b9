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

#[cfg(feature = "cron")]
pub use crate::Cron;
pub use crate::{Ctx, Lock};

#[cfg(feature = "cron")]
#[doc(inline)]
pub use crate::__cron as cron;
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

/// Declares a cron: work by its name, and when it is due.
///
/// ```
/// use tako::prelude::*;
///
/// static ROLLUP: Cron = cron!("nightly-rollup", "0 3 * * *");
/// static REPORT: Cron = cron!("report", "30 7 * * MON-FRI", "Europe/Berlin");
///
/// assert_eq!((ROLLUP.zone(), REPORT.zone()), ("UTC", "Europe/Berlin"));
/// ```
///
/// The name has the rules of a lock's. It is the cron's identity; a lock of the same name is another thing.
///
/// # The schedule
///
/// `minute hour day month weekday`, with a second before them if wanted, read by [croner](https://docs.rs/croner):
///
/// | Field | Values | Also |
/// |---|---|---|
/// | second | 0–59 | |
/// | minute | 0–59 | |
/// | hour | 0–23 | |
/// | day of the month | 1–31 | `L`: the last day; `15W`: the workday next to the 15th; `LW`: the last workday |
/// | month | 1–12, `JAN`–`DEC` | |
/// | weekday | 0–7, `SUN`–`SAT`; 0 and 7 are Sunday | `FRI#2`: the second Friday of the month; `FRI#L`: the last |
///
/// In each, `*` is every value, `9-17` a range, `1,15` a list, `*/15` or `0-30/10` steps. Where both the day of the month and
/// the weekday are given, either is enough; `+MON` as the weekday asks for both. Instead of the fields: `@hourly`, `@daily`,
/// `@weekly`, `@monthly`, `@yearly`.
///
/// # The time zone
///
/// `UTC` unless a place of the IANA database is given, `Area/City`. Its rules are compiled in, so that all instances of a
/// build agree. Where the clocks are changed:
///
/// - An hour that is named (`30 2 * * *`, `@daily`) means that time of the day, which comes once a day: a time that is left out
///   in spring is due at the first instant after the gap, one that comes twice in autumn at its first occurrence.
/// - An hour field that begins with `*` (`*/15 * * * *`, `@hourly`) means time that passes: nothing is made up, and nothing
///   left out.
///
/// # What is refused
///
/// There are no options: how instances share the work is chosen where it runs. All three are literals, and whatever is wrong
/// with them, the compiler says so:
///
/// ```compile_fail
/// # use tako::prelude::*;
/// static ROLLUP: Cron = cron!("nightly-rollup", "60 3 * * *");
/// ```
/// ```text
/// error: the minute of the schedule is 0 to 59, found `60`
///          = note: 60 3 * * *
///                  ^^ minute
///          = help: the full hour is `0`: `cron!("nightly-rollup", "0 3 * * *")`
/// ```
///
/// [`tako::errors`](crate::errors) explains each message.
#[cfg(feature = "cron")]
#[doc(hidden)]
#[macro_export]
macro_rules! __cron {
    ($($arguments:tt)*) => {
        $crate::__private::cron! { $crate $($arguments)* }
    };
}
