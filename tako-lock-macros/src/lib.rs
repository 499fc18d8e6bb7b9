//! The macros of [`tako-lock`](https://docs.rs/tako-lock), which re-exports them: use them through that crate.
//!
//! `entry`: parse (`args`, `item`) → validate (`validate`, `placement`) → expand (`expand`), pure over `proc_macro2`.

mod advice;
mod args;
mod call;
#[cfg(feature = "cron")]
mod cron;
#[cfg(feature = "cron")]
mod cron_advice;
mod diag;
mod entry;
mod expand;
mod item;
mod look_alike;
mod name_rules;
mod naming;
mod options;
mod parameter;
#[cfg(feature = "cron")]
mod placed;
mod placement;
#[cfg(feature = "cron")]
mod schedule_item;
#[cfg(feature = "cron")]
mod schedule_rules;
#[cfg(feature = "cron")]
mod scheduling;
#[cfg(test)]
mod soup;
mod tokens;
mod validate;
#[cfg(feature = "cron")]
mod zones;

/// Declares a lock: `lock!("reindex")`. It is `tako::prelude::lock!` that is meant to be called: that one names its own
/// crate first, then what the user wrote.
///
/// All faults of a call are reported at once, each at the tokens that it is about: what was found, what to write
/// instead, and why. They are listed in [`tako::errors`](https://docs.rs/tako-lock/latest/tako/errors/).
#[doc(hidden)]
#[proc_macro]
pub fn __lock(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    entry::bang(input.into()).into()
}

/// Declares a cron: `cron!("nightly-rollup", "0 3 * * *")`. It is `tako::cron!` that is meant to be called, as with
/// [`__lock`].
#[cfg(feature = "cron")]
#[doc(hidden)]
#[proc_macro]
pub fn __cron(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    entry::cron_bang(input.into()).into()
}

/// Puts a lock on an `async fn`, or gives a `static` its lock.
///
/// Use it as [`#[tako::lock("…")]`](https://docs.rs/tako-lock/latest/tako/attr.lock.html), where it is explained.
#[proc_macro_attribute]
pub fn lock(arguments: proc_macro::TokenStream, item: proc_macro::TokenStream) -> proc_macro::TokenStream {
    entry::attribute(arguments.into(), item.into()).into()
}
