//! What each macro answers, over `proc_macro2` alone: so that tests and fuzzing can ask as the compiler does.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};

use crate::call::{Call, Caller};
use crate::diag::Faults;
use crate::item::Item;
use crate::{args, expand, item, placement, validate};

/// `input`: the crate's name, then what the user wrote between the brackets.
pub(crate) fn bang(input: TokenStream) -> TokenStream {
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

/// The same, for a cron.
#[cfg(feature = "cron")]
pub(crate) fn cron_bang(input: TokenStream) -> TokenStream {
    let mut trees = input.into_iter();
    let Some(krate) = trees.next() else { return TokenStream::new() };
    let mut faults = Faults::default();
    match crate::cron::declared(&args::parse(trees.collect()), &mut faults) {
        Some(declared) if faults.is_empty() => expand::cron(&krate, &declared),
        _ => expand::refused_value(&faults),
    }
}

/// `arguments`: what the user wrote between the brackets; `item`: what it stands on.
pub(crate) fn attribute(arguments: TokenStream, item: TokenStream) -> TokenStream {
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
