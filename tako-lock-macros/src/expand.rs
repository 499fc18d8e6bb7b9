//! What is emitted. The only names that a user can see are those that the user wrote.

use proc_macro2::{Delimiter, Group, Ident, Literal, Span, TokenStream, TokenTree};
use quote::{quote, quote_spanned};

use crate::diag::Faults;
use crate::item::{Function, Static};
use crate::parameter::Parameter;
use crate::tokens::{Angles, is_pair, is_punct, is_word, peeled};

/// The value of a declared lock, as an expression.
pub(crate) fn lock(krate: &TokenTree, name: &Literal) -> TokenStream {
    quote! {
        {
            #krate::__private::inventory::submit! {
                #krate::__private::declaration(#name, ::core::file!(), ::core::line!(), ::core::module_path!())
            }
            #krate::__private::named(#name)
        }
    }
}

/// The value of a declared cron, as an expression.
#[cfg(feature = "cron")]
pub(crate) fn cron(krate: &TokenTree, declared: &crate::cron::Declared) -> TokenStream {
    let [name, schedule, zone] = declared.literals();
    quote! {
        {
            #krate::__private::inventory::submit! {
                #krate::__private::cron_declaration(
                    #name, #schedule, #zone, ::core::file!(), ::core::line!(), ::core::module_path!()
                )
            }
            #krate::__private::cron(#name, #schedule, #zone)
        }
    }
}

/// A refused `lock!` or `cron!`: an expression of any type.
pub(crate) fn refused_value(faults: &Faults) -> TokenStream {
    match &faults.compile_errors()[..] {
        // Without a block around it, it also stands as an item.
        [alone] => alone.clone(),
        errors => quote! { { #(#errors)* } },
    }
}

/// A `static` with its value.
pub(crate) fn static_item(krate: &TokenTree, item: &Static, name: &Literal) -> TokenStream {
    let Static { head, ty, end, .. } = item;
    let value = lock(krate, name);
    quote! { #(#head)* #(#ty)* = #value #end }
}

/// A refused `static` keeps its name and type, and the value that it had.
pub(crate) fn refused_static(item: &Static, faults: &Faults) -> TokenStream {
    let Static { head, ty, initializer, end, .. } = item;
    let errors = faults.compile_errors();
    let value = initializer.get(1..).unwrap_or_default();
    quote! { #(#head)* #(#ty)* = { #(#errors)* #(#value)* } #end }
}

/// A function whose body runs under the lock. `context` is the place of the context among `parameters`.
pub(crate) fn function(
    krate: &TokenTree,
    item: &Function,
    parameters: &[Parameter],
    context: usize,
    body: &Group,
    name: &Literal,
) -> TokenStream {
    let pattern = &parameters[context].pattern;
    let ty = &parameters[context].ty;
    let outer = outer_context(pattern);
    let mut arguments = TokenStream::new();
    for (at, parameter) in parameters.iter().enumerate() {
        let Parameter { attributes, pattern, colon, ty } = parameter;
        arguments.extend(quote! { #(#attributes)* });
        if at == context {
            arguments.extend(quote! { #outer #colon #(#ty)*, });
        } else {
            arguments.extend(quote! { #(#pattern)* #colon #(#ty)*, });
        }
    }
    let (inner_attributes, statements) = split_body(body);
    let output = nameable(&item.output.ty);
    let returns = Ident::new("returns", start_of(&item.output.ty));
    // Located at the user's code, so that what is said of the whole body is said there.
    let generated = Span::mixed_site().located_at(body.span());
    // The edge that is never taken gives the block its type before the user's code is read: an expression of another
    // type is then the one that is blamed.
    let work = quote! {
        #[allow(unreachable_code)]
        if false {
            let out: #output = loop {};
            return out;
        }
        #statements
    };
    let work = spanned(Delimiter::Brace, work, generated);
    let with = Ident::new("with", start_of(ty));
    let lock = lock(krate, name);
    let new_body = quote! {
        #inner_attributes
        #krate::__private::body({ static LOCK: #krate::Lock = #lock; &LOCK })
            .#returns::<#output>()
            .#with::<#(#ty)*>(&#outer)
            .run(async move |#(#pattern)*| #work)
            .await
    };
    with_body(item, &spanned(Delimiter::Parenthesis, arguments, item.arguments.span()), new_body, generated)
}

fn start_of(trees: &[TokenTree]) -> Span {
    peeled(trees.iter().cloned().collect()).first().map_or_else(Span::call_site, TokenTree::span)
}

/// A refused function stays what it was, with the faults in its body.
pub(crate) fn refused_function(item: &Function, body: Option<&Group>, faults: &Faults) -> TokenStream {
    let errors = faults.compile_errors();
    let arguments = item.arguments.clone();
    match body {
        Some(body) => {
            let (inner_attributes, statements) = split_body(body);
            with_body(item, &arguments, quote! { #inner_attributes #(#errors)* #statements }, body.span())
        }
        // The body keeps every `impl` of the trait complete or not as it was.
        None => with_body(item, &arguments, quote! { #(#errors)* }, Span::call_site()),
    }
}

/// Refuses any other item. An `impl` or a `trait` takes no `const _`, and everywhere else a bare `compile_error!` hides
/// other errors of the module.
pub(crate) fn refused_other(trees: &[TokenTree], in_impl: bool, faults: &Faults) -> TokenStream {
    let errors = faults.compile_errors();
    if in_impl {
        quote! { #(#trees)* #(#errors)* }
    } else {
        quote! { #(#trees)* const _: () = { #(#errors)* }; }
    }
}

fn with_body(item: &Function, arguments: &Group, body: TokenStream, span: Span) -> TokenStream {
    let Function { attributes, qualifiers, fn_token, name, generics, output, where_clause, .. } = item;
    let attributes = attributes.iter().flat_map(|attribute| &attribute.trees);
    let (arrow, ty) = (&output.arrow, &output.ty);
    let body = spanned(Delimiter::Brace, body, span);
    quote! {
        #(#attributes)* #(#qualifiers)* #fn_token #name #(#generics)* #arguments #(#arrow)* #(#ty)* #(#where_clause)* #body
    }
}

fn spanned(delimiter: Delimiter, stream: TokenStream, span: Span) -> Group {
    let mut group = Group::new(delimiter, stream);
    group.set_span(span);
    group
}

/// The outer function's own name for the context: like the user's, for the documentation, but no name of the user's
/// body means it.
fn outer_context(pattern: &[TokenTree]) -> Ident {
    let written = peeled(pattern.iter().cloned().collect()).into_iter().rev().find_map(|tree| match tree {
        TokenTree::Ident(ident) => Some(ident),
        _ => None,
    });
    let mut written = written.unwrap_or_else(|| Ident::new("ctx", Span::call_site()));
    let span = Span::mixed_site().located_at(written.span());
    let name = written.to_string();
    if let Some(plain) = name.strip_prefix('_') {
        // `_` and `_ctx` say that the body has no use for it; the outer function has.
        let usable = syn::parse_str::<Ident>(plain).is_ok();
        written = Ident::new(if usable { plain } else { "ctx" }, span);
    }
    written.set_span(span);
    written
}

/// The inner attributes at the head of a body, and the rest.
fn split_body(body: &Group) -> (TokenStream, TokenStream) {
    let trees: Vec<TokenTree> = body.stream().into_iter().collect();
    let mut at = 0;
    while let [pound, bang, TokenTree::Group(group), ..] = &trees[at..]
        && is_punct(pound, '#')
        && is_punct(bang, '!')
        && group.delimiter() == Delimiter::Bracket
    {
        at += 3;
    }
    (trees[..at].iter().cloned().collect(), trees[at..].iter().cloned().collect())
}

/// The type with each `impl Trait` replaced by `_`: a closure cannot name one.
fn nameable(ty: &[TokenTree]) -> TokenStream {
    let mut named = TokenStream::new();
    let mut at = 0;
    while at < ty.len() {
        match &ty[at] {
            tree if is_word(tree, "impl") => {
                let hole = quote_spanned! { tree.span() => _ };
                named.extend(hole);
                let mut angles = Angles::default();
                while at < ty.len() {
                    let closes = is_punct(&ty[at], '>') && !is_pair(ty, at.saturating_sub(1), ['-', '>']);
                    if angles.closed() && (is_punct(&ty[at], ',') || closes) {
                        break;
                    }
                    angles.pass(&ty[at]);
                    at += 1;
                }
                continue;
            }
            TokenTree::Group(group) => {
                let inside: Vec<TokenTree> = group.stream().into_iter().collect();
                let inside = spanned(group.delimiter(), nameable(&inside), group.span());
                named.extend([TokenTree::Group(inside)]);
            }
            tree => named.extend([tree.clone()]),
        }
        at += 1;
    }
    named
}
