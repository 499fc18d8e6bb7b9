//! What is said of options: that there are none, and what to do instead of these.

use proc_macro2::{Delimiter, TokenTree};

use crate::advice::{Topic, topic};
use crate::args::{Argument, Shape};
use crate::call::Call;
use crate::diag::Message;
use crate::tokens::{is_pair, is_punct, peeled, quote_code};

/// One message for all options of a call; `kept` is the name that the call keeps.
pub(crate) fn no_options(call: &Call, options: &[&Argument], kept: Option<&str>) -> Message {
    let mut found: Vec<String> = options.iter().map(|option| format!("`{}`", option_title(option))).collect();
    found.dedup();
    let found = match &found[..] {
        [one] => one.clone(),
        [before @ .., last] => format!("{} and {last}", before.join(", ")),
        [] => String::new(),
    };
    let mut message = Message::new(format!(
        "{} takes {} and no options, found {found}",
        call.words().title,
        call.words().takes
    ));
    let them = if options.len() == 1 { "it" } else { "them" };
    message = match kept {
        Some(name) => message.help(format!("remove {them}: {}", call.with(name))),
        None => message.help(format!("write {} instead: {}", call.words().takes, call.with(&call.example))),
    };
    let mut topics: Vec<Topic> = Vec::new();
    for topic in options.iter().flat_map(|option| topics_of(call, option)) {
        if !topics.contains(&topic) {
            topics.push(topic);
        }
    }
    topics.iter().fold(message, |message, topic| message.help(topic.advice())).note(call.words().policy)
}

fn option_title(option: &Argument) -> String {
    match &option.shape {
        Shape::Keyword { key, .. } => key.clone(),
        Shape::Applied { path, .. } => path.clone(),
        _ => quote_code(&option.trees),
    }
}

fn topics_of(call: &Call, option: &Argument) -> Vec<Topic> {
    let words = match &option.shape {
        Shape::Keyword { key, .. } => vec![key.clone()],
        Shape::Applied { inside, .. } if inside.delimiter() == Delimiter::Brace => {
            fields(&peeled(inside.stream()))
        }
        _ => all_words(&option.trees),
    };
    words.iter().filter_map(|word| topic(&call.caller, word)).collect()
}

/// The names of the fields in `ttl: 60, wait`.
fn fields(trees: &[TokenTree]) -> Vec<String> {
    let starts = trees.iter().enumerate().filter(|(at, tree)| {
        let after_comma = *at == 0 || is_punct(&trees[at - 1], ',');
        after_comma && matches!(tree, TokenTree::Ident(_)) && !is_pair(trees, at + 1, [':', ':'])
    });
    starts.map(|(_, tree)| tree.to_string()).collect()
}

fn all_words(trees: &[TokenTree]) -> Vec<String> {
    let mut words = Vec::new();
    for tree in trees {
        match tree {
            TokenTree::Ident(ident) => words.push(ident.to_string()),
            TokenTree::Group(group) => words.extend(all_words(&peeled(group.stream()))),
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
    words
}
