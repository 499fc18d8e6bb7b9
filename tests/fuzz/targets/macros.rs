//! Whatever is written in a call of the macros: no panic, and always code that can be read again. The first line is the
//! arguments, the rest is the item that the attribute stands on.
#![no_main]
#![allow(dead_code, reason = "not all of the macros' files are used without a compiler")]

use std::str::FromStr;

use libfuzzer_sys::{Corpus, fuzz_target};
use proc_macro2::{Ident, Span, TokenStream, TokenTree};

// The macros' own files: a crate of procedural macros exports nothing else.
#[path = "../../../tako-lock-macros/src/advice.rs"]
mod advice;
#[path = "../../../tako-lock-macros/src/args.rs"]
mod args;
#[path = "../../../tako-lock-macros/src/call.rs"]
mod call;
#[path = "../../../tako-lock-macros/src/diag.rs"]
mod diag;
#[path = "../../../tako-lock-macros/src/entry.rs"]
mod entry;
#[path = "../../../tako-lock-macros/src/expand.rs"]
mod expand;
#[path = "../../../tako-lock-macros/src/item.rs"]
mod item;
#[path = "../../../tako-lock-macros/src/look_alike.rs"]
mod look_alike;
#[path = "../../../tako-lock/src/name_rules.rs"]
mod name_rules;
#[path = "../../../tako-lock-macros/src/naming.rs"]
mod naming;
#[path = "../../../tako-lock-macros/src/options.rs"]
mod options;
#[path = "../../../tako-lock-macros/src/parameter.rs"]
mod parameter;
#[path = "../../../tako-lock-macros/src/placement.rs"]
mod placement;
#[path = "../../../tako-lock-macros/src/tokens.rs"]
mod tokens;
#[path = "../../../tako-lock-macros/src/validate.rs"]
mod validate;

fuzz_target!(|text: &str| -> Corpus {
    let (arguments, item) = text.split_once('\n').unwrap_or((text, ""));
    let (Ok(arguments), Ok(item)) = (TokenStream::from_str(arguments), TokenStream::from_str(item)) else {
        return Corpus::Reject;
    };
    let krate = TokenTree::Ident(Ident::new("tako", Span::call_site()));
    reads_again(&entry::bang([krate].into_iter().chain(arguments.clone()).collect()));
    reads_again(&entry::attribute(arguments, item));
    Corpus::Keep
});

fn reads_again(output: &TokenStream) {
    let code = output.to_string();
    match TokenStream::from_str(&code) {
        Ok(again) => assert!(!again.is_empty(), "nothing came out"),
        Err(error) => panic!("{error} in {code}"),
    }
}
