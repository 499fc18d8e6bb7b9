//! Judges the arguments of a call: one legal name, and nothing else.

use proc_macro2::TokenTree;
use syn::LitStr;

use crate::args::{Argument, Shape};
use crate::call::{Call, Caller};
use crate::diag::{Faults, Heading, Message};
use crate::naming::{fault, repair};
use crate::options::no_options;
use crate::tokens::{is_punct, peeled, quote_code};

/// The name's literal, when the arguments are one legal name; what is wrong goes to `faults`.
pub(crate) fn name(call: &Call, arguments: &[Argument], faults: &mut Faults) -> Option<LitStr> {
    let (commas, arguments): (Vec<&Argument>, Vec<&Argument>) =
        arguments.iter().partition(|argument| matches!(argument.shape, Shape::Comma));
    let place = match &arguments[..] {
        // An option in the name's place: the name may follow.
        [first, ..] if is_option(first) => {
            arguments.iter().position(|argument| matches!(argument.shape, Shape::Text(_)))
        }
        [_, ..] => Some(0),
        [] => {
            let message = needs_a_name(call, Message::new(format!("{} needs a name", call.words().title)));
            match commas.first() {
                Some(comma) => faults.push(&comma.trees, message, Heading::Name),
                None => faults.push_at(call.span, message, Heading::Name),
            }
            return None;
        }
    };
    let judged = place.map(|place| one_name(call, arguments[place], faults));
    let kept = judged.as_ref().and_then(|(_, kept)| kept.as_deref());
    let others =
        arguments.iter().enumerate().filter(|(at, _)| Some(*at) != place).map(|(_, argument)| *argument);
    let (names, options): (Vec<&Argument>, Vec<&Argument>) = others.partition(|argument| is_name(argument));
    for second in names {
        faults.push(&second.trees, second_name(call, second), Heading::Literal);
    }
    if let ([first, ..], [.., last]) = (&options[..], &options[..]) {
        let shown = [&first.trees[..], &last.trees[..]].concat();
        faults.push(&shown, no_options(call, &options, kept), Heading::Options);
    }
    for comma in commas {
        let message = Message::new(format!("{} has a comma too many", call.words().title))
            .help(format!("remove it: {}", call.with(kept.unwrap_or(&call.example))));
        faults.push(&comma.trees, message, Heading::Literal);
    }
    judged.and_then(|(literal, _)| literal)
}

fn needs_a_name(call: &Call, message: Message) -> Message {
    let message =
        message.help(format!("name the work it {}: {}", call.words().does, call.with(&call.example)));
    let message = if call.caller == Caller::Attribute {
        message.note(
            "the name is not taken from the item: renaming the item would silently make it another lock",
        )
    } else {
        message
    };
    message.note(call.words().rule)
}

fn is_option(argument: &Argument) -> bool {
    match &argument.shape {
        Shape::Keyword { key, .. } => !is_name_key(key),
        _ => false,
    }
}

fn is_name_key(key: &str) -> bool {
    ["name", "lock", "key", "id"].contains(&key)
}

fn is_name(argument: &Argument) -> bool {
    match &argument.shape {
        Shape::Text(_) => true,
        Shape::Keyword { key, .. } => key == "name",
        _ => false,
    }
}

/// Judges the argument in the name's place. Gives the literal when it is legal, and the name to repeat in further
/// messages when there is one.
pub(crate) fn one_name(
    call: &Call,
    argument: &Argument,
    faults: &mut Faults,
) -> (Option<LitStr>, Option<String>) {
    if let Shape::Text(text) = &argument.shape {
        let name = text.value();
        let Some(found) = fault(call.words().noun, &name) else {
            // Written plainly: a raw string equals a plain one.
            return (Some(LitStr::new(&name, text.span())), Some(name));
        };
        let repaired = repair(&name);
        let message = match &repaired {
            Some(repaired) => {
                Message::new(found).help(format!("write {}", call.with(repaired))).note(call.words().rule)
            }
            None if name.is_empty() => needs_a_name(call, Message::new(found)),
            None => Message::new(found).note(call.words().rule),
        };
        faults.push(&argument.trees, message, Heading::Name);
        return (None, repaired);
    }
    let (message, meant) = not_a_literal(call, argument);
    faults.push(&argument.trees, message, Heading::Literal);
    (None, meant)
}

/// Something else than a string literal stands in the name's place: what to say, and the name that was meant.
fn not_a_literal(call: &Call, argument: &Argument) -> (Message, Option<String>) {
    let found = |what: &str| {
        let code = quote_code(&argument.trees);
        Message::new(format!("{} takes a string literal, found {what} `{code}`", call.words().title))
    };
    let write_it = |message: Message, meant: Option<String>| {
        let help = format!("write the name itself: {}", call.with(meant.as_deref().unwrap_or(&call.example)));
        (message.help(help).note(call.words().why), meant)
    };
    match &argument.shape {
        Shape::Words => {
            let words: Vec<String> = argument.trees.iter().map(ToString::to_string).collect();
            let what = if words.len() == 1 { "the identifier" } else { "the bare words" };
            match repair(&words.join(" ")) {
                Some(name) => {
                    let help = format!("if that is the name, put it in quotes: {}", call.with(&name));
                    (found(what).help(help).note(call.words().why), Some(name))
                }
                None => write_it(found(what), None),
            }
        }
        Shape::Path { constant } => {
            let help = format!(
                "write the name itself in its place: {}; to share one {noun}, share its `static`, or repeat the name: \
                 equal names are the same {noun}",
                call.with(&call.example),
                noun = call.words().noun
            );
            (
                found(if *constant { "the constant" } else { "the path" }).help(help).note(call.words().why),
                None,
            )
        }
        Shape::Macro { name, inside } => {
            let message = Message::new(format!(
                "{} takes a string literal, found a call of `{name}!`",
                call.words().title
            ));
            match name.as_str() {
                "concat" | "stringify" => {
                    let joined = if name == "concat" {
                        concatenated(peeled(inside.clone()), ',')
                    } else {
                        Some(inside.to_string())
                    };
                    let meant = joined.and_then(|joined| repair(&joined));
                    match meant {
                        Some(_) => {
                            let shown = call.with(meant.as_deref().unwrap_or_default());
                            (
                                message
                                    .help(format!("write the result in place: {shown}"))
                                    .note(call.words().why),
                                meant,
                            )
                        }
                        None => write_it(message, None),
                    }
                }
                "env" | "option_env" => {
                    let help = "app and environment are added for you: `leases/run-<app>-<env>-<name>`; write only what \
                                the work is called";
                    write_it(message.help(help), None)
                }
                _ => (message.help(one_fixed_name(call)).note(call.words().why), None),
            }
        }
        Shape::Literal { called, inside } => write_it(found(&format!("the {called}")), repair(inside)),
        Shape::Suffixed(text) => {
            let message = Message::new(format!(
                "{} takes a string literal without a suffix, found `{}` on it",
                call.words().title,
                text.suffix()
            ));
            write_it(message, repair(&text.value()))
        }
        Shape::Keyword { key, separator, value } => {
            let meant = match syn::parse2::<LitStr>(value.iter().cloned().collect()) {
                Ok(text) => repair(&text.value()),
                Err(_) => None,
            };
            let key = if *separator == '=' { format!("{key} =") } else { format!("{key}:") };
            let shown = call.with(meant.as_deref().unwrap_or(&call.example));
            let message = Message::new(format!("the name of {} has no keyword", call.words().title));
            (message.help(format!("drop `{key}`: {shown}")).note(call.words().why), meant)
        }
        Shape::Expression if is_punct(&argument.trees[0], ',') => (
            needs_a_name(call, Message::new(format!("{} needs a name before the comma", call.words().title))),
            None,
        ),
        Shape::Text(_) | Shape::Comma | Shape::Applied { .. } | Shape::Expression => {
            match only_string(&argument.trees).or_else(|| concatenated(argument.trees.clone(), '+')) {
                Some(text) => write_it(found("the expression"), repair(&text)),
                None => (found("the expression").help(one_fixed_name(call)).note(call.words().why), None),
            }
        }
    }
}

fn one_fixed_name(call: &Call) -> String {
    format!(
        "a {noun} is one fixed name: the set of {noun}s cannot depend on what the program reads as it runs; for one {noun} \
         a customer or a day, keep that state in the store that the work writes to",
        noun = call.words().noun
    )
}

/// The text of the only string in `"x".to_string()`, `&"x"`, `("x")` and the like.
pub(crate) fn only_string(trees: &[TokenTree]) -> Option<String> {
    let mut texts = Vec::new();
    for tree in trees {
        match tree {
            TokenTree::Literal(_) => texts.push(syn::parse2::<LitStr>(tree.clone().into()).ok()?.value()),
            TokenTree::Group(group) => {
                let inside: Vec<TokenTree> = group.stream().into_iter().collect();
                if !inside.is_empty() {
                    texts.push(only_string(&inside)?);
                }
            }
            tree if is_punct(tree, '+') => return None,
            _ => {}
        }
    }
    let [text] = &texts[..] else { return None };
    Some(text.clone())
}

/// The literals in a row, when there is nothing else between the separators: what `concat!` gives.
pub(crate) fn concatenated(trees: Vec<TokenTree>, separator: char) -> Option<String> {
    let mut joined = String::new();
    for tree in trees {
        match syn::parse2::<syn::Lit>(tree.clone().into()) {
            _ if is_punct(&tree, separator) => {}
            Ok(syn::Lit::Str(text)) => joined.push_str(&text.value()),
            Ok(syn::Lit::Char(character)) => joined.push(character.value()),
            Ok(syn::Lit::Int(number)) => joined.push_str(number.base10_digits()),
            _ => return None,
        }
    }
    Some(joined)
}

fn second_name(call: &Call, second: &Argument) -> Message {
    let own = match &second.shape {
        Shape::Text(text) => repair(&text.value()),
        _ => None,
    };
    let help = match (&call.caller, own) {
        (Caller::Attribute, Some(name)) => {
            format!("one attribute a lock: a function that needs both has a second one, {}", call.with(&name))
        }
        (Caller::Attribute, None) => "one attribute a lock: a function that needs both has two".to_owned(),
        (_, Some(name)) => {
            format!("declare one lock a name; {} is another `static`", call.with(&name))
        }
        (_, None) => "declare one lock a name: each is a `static` of its own".to_owned(),
    };
    Message::new(format!("{} takes one name, found another", call.words().title))
        .help(help)
        .note(call.words().why)
}
