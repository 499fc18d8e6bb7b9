//! The macros of [`tako-lock`](https://docs.rs/tako-lock), which re-exports them: use them through that crate.
//!
//! parse (`args`, `item`) → validate (`validate`, `placement`) → expand (`expand`), pure over `proc_macro2`.

mod advice;
mod args;
mod call;
#[cfg(feature = "cron")]
mod cron;
#[cfg(feature = "cron")]
mod cron_advice;
mod diag;
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

use proc_macro2::{Ident, Span, TokenStream, TokenTree};

use crate::call::{Call, Caller};
use crate::diag::Faults;
use crate::item::Item;

/// Declares a lock: `lock!("reindex")`. It is `tako::prelude::lock!` that is meant to be called: that one names its own
/// crate first, then what the user wrote.
///
/// All faults of a call are reported at once, each at the tokens that it is about: what was found, what to write
/// instead, and why. They are listed in [`tako::errors`](https://docs.rs/tako-lock/latest/tako/errors/).
#[doc(hidden)]
#[proc_macro]
pub fn __lock(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    bang(input.into()).into()
}

/// Declares a cron: `cron!("nightly-rollup", "0 3 * * *")`. It is `tako::cron!` that is meant to be called, as with
/// [`__lock`].
#[cfg(feature = "cron")]
#[doc(hidden)]
#[proc_macro]
pub fn __cron(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    cron_bang(input.into()).into()
}

/// Puts a lock on an `async fn`, or gives a `static` its lock.
///
/// Use it as [`#[tako::lock("…")]`](https://docs.rs/tako-lock/latest/tako/attr.lock.html), where it is explained.
#[proc_macro_attribute]
pub fn lock(arguments: proc_macro::TokenStream, item: proc_macro::TokenStream) -> proc_macro::TokenStream {
    attribute(arguments.into(), item.into()).into()
}

fn bang(input: TokenStream) -> TokenStream {
    let mut trees = input.into_iter();
    let Some(krate) = trees.next() else { return TokenStream::new() };
    let call = Call { caller: Caller::Bang, example: "reindex".to_owned(), span: Span::call_site() };
    let mut faults = Faults::default();
    let name = validate::name(&call, &args::parse(trees.collect()), &mut faults);
    match name {
        Some(name) if faults.is_empty() => expand::lock(&krate, &name.token()),
        _ => expand::refused_value(&faults),
    }
}

#[cfg(feature = "cron")]
fn cron_bang(input: TokenStream) -> TokenStream {
    let mut trees = input.into_iter();
    let Some(krate) = trees.next() else { return TokenStream::new() };
    let mut faults = Faults::default();
    match cron::declared(&args::parse(trees.collect()), &mut faults) {
        Some(declared) if faults.is_empty() => expand::cron(&krate, &declared),
        _ => expand::refused_value(&faults),
    }
}

fn attribute(arguments: TokenStream, item: TokenStream) -> TokenStream {
    // Found where the user's item stands: a dependency under another name needs only `use other as tako;` there.
    let krate = TokenTree::Ident(Ident::new("tako", Span::call_site()));
    let item = item::parse(item.into_iter().collect());
    let example = placement::example(&item);
    let mut call = Call { caller: Caller::Attribute, example, span: Span::call_site() };
    let mut faults = Faults::default();
    let name = validate::name(&call, &args::parse(arguments), &mut faults);
    if let Some(name) = &name {
        // From here on, messages that show the whole attribute show the user's own.
        call.example = name.value();
    }
    let name = name.map(|name| name.token());
    match item {
        Item::Static(item) => {
            placement::static_item(&item, &mut faults);
            match name {
                Some(name) if faults.is_empty() => expand::static_item(&krate, &item, &name),
                _ => expand::refused_static(&item, &faults),
            }
        }
        Item::Function(item) => placement::function(&krate, &call, *item, name, faults),
        Item::Other(item) => {
            placement::other(&item, &mut faults);
            expand::refused_other(&item.trees, item.may_be_in_impl(), &faults)
        }
    }
}
