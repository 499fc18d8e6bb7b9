//! Judges the item under `#[tako::lock]`.

use proc_macro2::{Delimiter, Group, Literal, TokenStream, TokenTree};
use syn::LitStr;

use crate::call::Call;
use crate::diag::{Faults, Heading, Message};
use crate::expand;
use crate::item::{Attribute, Body, Function, Item, Other, Static};
use crate::naming::repair;
use crate::parameter::Parameter;
use crate::tokens::{as_group, is_punct, is_word, peeled, quote_code, whole_code};

/// The name that the messages show for this item.
pub(crate) fn example(item: &Item) -> String {
    let name = match item {
        Item::Function(function) => function.name.to_string(),
        Item::Static(item) => item.head.iter().rev().nth(1).map(ToString::to_string).unwrap_or_default(),
        Item::Other(_) => String::new(),
    };
    repair(&name).unwrap_or_else(|| "reindex".to_owned())
}

pub(crate) fn other(item: &Other, faults: &mut Faults) {
    let message = Message::new(format!(
        "`#[tako::lock]` goes on an `async fn` or a `static`, not on {}",
        item.called
    ))
    .help("on an `async fn` whose first argument is `ctx: Ctx`, it runs the body holding the lock")
    .help("on `static NAME: Lock;`, it gives the static its value, to be taken with `NAME.run(&ctx, …)`");
    let shown = if item.shown.is_empty() { &item.trees } else { &item.shown };
    faults.push(shown, message, Heading::Placement);
}

pub(crate) fn static_item(item: &Static, faults: &mut Faults) {
    if let Some(mutable) = &item.mutable {
        let message = Message::new("a `static` under `#[tako::lock]` is not `mut`")
            .help("drop `mut`: a lock is shared as it is, and taking it needs no `mut`");
        faults.push(std::slice::from_ref(mutable), message, Heading::Placement);
    }
    if !item.initializer.is_empty() {
        let message = Message::new("a `static` under `#[tako::lock]` has no initializer")
            .help(format!("end it after the type, `{};`: the attribute gives the value", declared(item)))
            .help("or keep the value and drop the attribute: one declaration is enough");
        faults.push(&item.initializer, message, Heading::Placement);
    }
}

/// The `static` without its attributes and without a value.
fn declared(item: &Static) -> String {
    let start =
        item.head.iter().position(|tree| is_word(tree, "pub") || is_word(tree, "static")).unwrap_or(0);
    let mut code = item.head[start..].to_vec();
    code.extend(item.ty.iter().cloned());
    quote_code(&code)
}

/// Judges a function and expands it, one way or the other.
pub(crate) fn function(
    krate: &TokenTree,
    call: &Call,
    mut item: Function,
    name: Option<Literal>,
    mut faults: Faults,
) -> TokenStream {
    let parameters = item.parameters();
    let named = faults.is_empty();
    if name.is_some() {
        taken_twice(call, &item, &mut faults);
    }
    let body = match &item.body {
        Body::Block(body) => Some(body.clone()),
        Body::Missing => {
            faults.push(&header(&item), no_body(&item), Heading::Placement);
            None
        }
    };
    if let Some(body) = &body {
        asyncness(call, &item, body, &mut faults);
    }
    let context = context(&item, &parameters, &mut faults);
    output(&item, &mut faults);
    match (name, context, body) {
        (Some(name), Some(context), Some(body)) if faults.is_empty() => {
            expand::function(krate, &item, &parameters, context, &body, &name)
        }
        (_, _, body) => {
            if named {
                // What is wrong is the function's, so a second attribute of ours would say it all again.
                item.attributes.retain(|attribute| !attribute.is_lock());
            }
            expand::refused_function(&item, body.as_ref(), &faults)
        }
    }
}

fn taken_twice(call: &Call, item: &Function, faults: &mut Faults) {
    let name = &call.example;
    let again = |attribute: &&Attribute| {
        let arguments = attribute.arguments.as_ref().filter(|_| attribute.is_lock());
        let text = arguments.and_then(|group| syn::parse2::<LitStr>(group.stream()).ok());
        text.is_some_and(|text| text.value() == *name)
    };
    for attribute in item.attributes.iter().filter(again) {
        let message =
            Message::new(format!("this function takes the lock \"{name}\" twice, and would wait for itself"))
                .help("drop one of the two attributes")
                .note("locks are not reentrant: a holder that asks again is refused like anyone else");
        faults.push(&attribute.trees, message, Heading::Placement);
    }
}

fn no_body(item: &Function) -> Message {
    Message::new("`#[tako::lock]` needs a body to run")
        .help(format!("put it on the `async fn {}` of each `impl`", item.name))
        .note("a declaration only promises a signature; the lock is taken by the code behind it")
}

fn asyncness(call: &Call, item: &Function, body: &Group, faults: &mut Faults) {
    if item.is_async() {
        return;
    }
    let shown = std::slice::from_ref(&item.fn_token);
    let attribute = call.with(&call.example);
    let message = if boxed_by_async_trait(item) {
        Message::new("`#[async_trait]` made this function synchronous before `#[tako::lock]` saw it")
            .help(format!(
                "keep the work in an `async fn` of its own, with {attribute} on it, and call that here; or use \
                 the language's own `async fn` in traits"
            ))
            .note("attributes run from the outside in: the one on the `impl` or `trait` before those inside of it")
    } else if generated(body) {
        Message::new("another attribute made this function synchronous before `#[tako::lock]` saw it")
            .help(format!("put {attribute} above the other attribute"))
            .note("attributes run from the top down")
    } else {
        Message::new("`#[tako::lock]` needs an `async fn`: taking the lock waits")
            .help(format!("write `async fn {}`", item.name))
    };
    faults.push(shown, message, Heading::Placement);
}

/// `#[async_trait]` leaves this lifetime in every function that it rewrites.
fn boxed_by_async_trait(item: &Function) -> bool {
    item.generics.iter().any(|tree| is_word(tree, "async_trait"))
}

/// Whether the body drives a future with a `block_on` that nobody wrote there, as runtimes' attributes leave it.
fn generated(body: &Group) -> bool {
    body.stream().into_iter().any(|tree| match &tree {
        TokenTree::Ident(ident) if ident == "block_on" => {
            ident.span().source_text().is_none_or(|written| written != "block_on")
        }
        TokenTree::Group(group) => generated(group),
        _ => false,
    })
}

/// The place of the context among the parameters.
fn context(item: &Function, parameters: &[Parameter], faults: &mut Faults) -> Option<usize> {
    let place = usize::from(parameters.first().is_some_and(Parameter::is_receiver));
    let first = parameters.get(place);
    if first.is_some_and(Parameter::is_context) {
        return Some(place);
    }
    let mut message = Message::new("a locked function takes the context first: `ctx: Ctx`");
    if first.is_some_and(is_borrowed) {
        message =
            message.help("take it by value: a context is cheap to clone, and the body gets one of its own");
    } else if first.is_some_and(stands_for_context) {
        message = message
            .help("spell its type `Ctx`, or with a path before it: an alias cannot be told from other types");
    }
    let message = message
        .help(format!("write `{}`", suggested(item, parameters, place)))
        .note("losing the lease cancels this context, and with it the work that was given it");
    match first {
        Some(first) => faults.push(&first.trees(), message, Heading::Signature),
        None => faults.push_at(item.arguments.span(), message, Heading::Signature),
    }
    None
}

/// Whether this was meant to be the context: by its name, or by the end of its type.
fn stands_for_context(parameter: &Parameter) -> bool {
    let named = |word: &str| parameter.pattern.iter().any(|tree| is_word(tree, word));
    named("ctx") || named("_ctx") || parameter.ty.last().is_some_and(|tree| is_word(tree, "Ctx"))
}

fn is_borrowed(parameter: &Parameter) -> bool {
    stands_for_context(parameter) && parameter.ty.first().is_some_and(|tree| is_punct(tree, '&'))
}

/// The signature with the context in its place, ready to paste.
fn suggested(item: &Function, parameters: &[Parameter], place: usize) -> String {
    let (before, after) = parameters.split_at(place);
    let context = after.iter().find(|parameter| parameter.is_context());
    let mut arguments: Vec<String> = before.iter().map(Parameter::code).collect();
    arguments.push(context.map_or_else(|| "ctx: Ctx".to_owned(), Parameter::code));
    let others = after.iter().filter(|parameter| !parameter.is_context() && !stands_for_context(parameter));
    arguments.extend(others.map(Parameter::code));
    let generics = whole_code(&item.generics);
    let ty = peeled(item.output.ty.iter().cloned().collect());
    let output = if ty.is_empty() || cannot_be_a_result(&ty) { wrapped(&ty) } else { whole_code(&ty) };
    format!("async fn {}{generics}({}) -> {output}", item.name, arguments.join(", "))
}

/// The return type that was meant.
fn wrapped(ty: &[TokenTree]) -> String {
    let value = match ty {
        [] => "()".to_owned(),
        [never] if is_punct(never, '!') => "()".to_owned(),
        ty => whole_code(ty),
    };
    format!("Result<{value}, tako::LockError>")
}

fn output(item: &Function, faults: &mut Faults) {
    let ty = peeled(item.output.ty.iter().cloned().collect());
    let rule =
        "taking the lock can fail before the body runs; any error type with `From<tako::LockError>` will do";
    if ty.is_empty() {
        let message = Message::new("an `async fn` under `#[tako::lock]` returns a `Result`")
            .help("write `-> Result<(), tako::LockError>`, and `Ok(())` at the end of the body")
            .note(rule);
        faults.push(&header(item), message, Heading::Signature);
    } else if cannot_be_a_result(&ty) {
        let found = quote_code(&ty);
        let message =
            Message::new(format!("an `async fn` under `#[tako::lock]` returns a `Result`, not `{found}`"))
                .help(format!("write `{}`", wrapped(&ty)))
                .note(rule);
        faults.push(&item.output.ty, message, Heading::Signature);
    }
}

/// Types that are no path: what a path names, only the compiler knows.
fn cannot_be_a_result(ty: &[TokenTree]) -> bool {
    match &ty[0] {
        // Parentheses around a type are not a tuple.
        tree @ TokenTree::Group(group) => {
            let inside = || group.stream().into_iter();
            let tuple = inside().next().is_none() || inside().any(|tree| is_punct(&tree, ','));
            tuple || as_group(tree, Delimiter::Bracket).is_some()
        }
        TokenTree::Punct(punct) => ['!', '&', '*'].contains(&punct.as_char()),
        tree => ["impl", "dyn", "fn"].iter().any(|keyword| is_word(tree, keyword)),
    }
}

/// The signature, from its first qualifier to its arguments.
fn header(item: &Function) -> Vec<TokenTree> {
    let start = item.qualifiers.iter().position(|tree| !is_visibility(tree)).unwrap_or(item.qualifiers.len());
    let mut trees = item.qualifiers[start..].to_vec();
    trees.extend([item.fn_token.clone(), TokenTree::Ident(item.name.clone())]);
    trees.extend(item.generics.iter().cloned());
    trees.push(TokenTree::Group(item.arguments.clone()));
    trees
}

fn is_visibility(tree: &TokenTree) -> bool {
    is_word(tree, "pub") || matches!(tree, TokenTree::Group(_))
}
