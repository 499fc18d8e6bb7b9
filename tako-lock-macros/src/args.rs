//! The arguments of a call: split at the commas, each told apart by its shape. Nothing is judged here.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use syn::{Lit, LitStr};

use crate::tokens::{is_pair, is_punct, is_word, peeled, whole_code};

/// One argument; it has at least one token.
pub(crate) struct Argument {
    pub(crate) trees: Vec<TokenTree>,
    pub(crate) shape: Shape,
}

/// What an argument looks like.
pub(crate) enum Shape {
    /// A plain or raw string without a suffix.
    Text(LitStr),
    /// Another literal: what it is called, and the text inside of it.
    Literal { called: &'static str, inside: String },
    /// A string with a suffix.
    Suffixed(LitStr),
    /// `reindex`, `reindex_all`, but also `re-index` and `re index`: words that lack their quotes.
    Words,
    /// `NAME` or `config::NAME`, or any other path.
    Path { constant: bool },
    /// `concat!("re", "index")`.
    Macro { name: String, inside: TokenStream },
    /// `key = value` or `key: value`.
    Keyword { key: String, separator: char, value: Vec<TokenTree> },
    /// `Options { ttl: 60 }` or `Duration::from_secs(60)`: something named, then brackets.
    Applied { path: String, inside: Group },
    /// A comma that ends no argument.
    Comma,
    /// Anything else.
    Expression,
}

/// Splits what stands between the brackets of a call. A comma at the end is fine; any other comma that ends nothing
/// is an argument of its own, so that it is not overlooked.
pub(crate) fn parse(stream: TokenStream) -> Vec<Argument> {
    let mut arguments = Vec::new();
    let mut trees: Vec<TokenTree> = Vec::new();
    for tree in peeled(stream) {
        if !is_punct(&tree, ',') {
            trees.push(tree);
            continue;
        }
        if trees.is_empty() {
            trees.push(tree);
        }
        arguments.push(Argument::new(std::mem::take(&mut trees)));
    }
    if !trees.is_empty() {
        arguments.push(Argument::new(trees));
    }
    arguments
}

impl Argument {
    fn new(trees: Vec<TokenTree>) -> Argument {
        let shape = shape(&trees);
        Argument { trees, shape }
    }
}

fn shape(trees: &[TokenTree]) -> Shape {
    match trees {
        [comma] if is_punct(comma, ',') => Shape::Comma,
        [TokenTree::Ident(_)] if is_boolean(&trees[0]) => {
            Shape::Literal { called: "boolean", inside: String::new() }
        }
        [TokenTree::Literal(_)] => literal(&trees[0]),
        [minus, TokenTree::Literal(_)] if is_punct(minus, '-') => {
            Shape::Literal { called: "number", inside: String::new() }
        }
        [TokenTree::Ident(key), separator, value @ ..] if is_separator(trees) => Shape::Keyword {
            key: key.to_string(),
            separator: if is_punct(separator, '=') { '=' } else { ':' },
            value: value.to_vec(),
        },
        [path @ .., bang, TokenTree::Group(inside)] if is_punct(bang, '!') && is_path(path) => {
            Shape::Macro { name: last_word(path), inside: inside.stream() }
        }
        [path @ .., TokenTree::Group(inside)]
            if is_path(path) && inside.delimiter() != Delimiter::Bracket =>
        {
            Shape::Applied { path: whole_code(path), inside: inside.clone() }
        }
        _ if is_path(trees) => {
            let constant = last_word(trees).chars().all(|c| c.is_uppercase() || c.is_numeric() || c == '_');
            if trees.len() == 1 && !constant { Shape::Words } else { Shape::Path { constant } }
        }
        _ if trees.iter().all(|tree| is_punct(tree, '-') || matches!(tree, TokenTree::Ident(_))) => {
            Shape::Words
        }
        _ => Shape::Expression,
    }
}

fn literal(tree: &TokenTree) -> Shape {
    let called = |called, inside| Shape::Literal { called, inside };
    match syn::parse2(tree.clone().into()) {
        Ok(Lit::Str(text)) if text.suffix().is_empty() => Shape::Text(text),
        Ok(Lit::Str(text)) => Shape::Suffixed(text),
        Ok(Lit::ByteStr(bytes)) => {
            called("byte string", String::from_utf8_lossy(&bytes.value()).into_owned())
        }
        Ok(Lit::CStr(text)) => called("C string", text.value().to_string_lossy().into_owned()),
        Ok(Lit::Char(character)) => called("character", character.value().to_string()),
        Ok(Lit::Byte(byte)) => called("byte", char::from(byte.value()).to_string()),
        Ok(Lit::Int(_) | Lit::Float(_)) => called("number", String::new()),
        _ => Shape::Expression,
    }
}

fn is_boolean(tree: &TokenTree) -> bool {
    is_word(tree, "true") || is_word(tree, "false")
}

/// Whether a single `=` or `:` follows the first word.
fn is_separator(trees: &[TokenTree]) -> bool {
    let double = [['=', '='], ['=', '>'], [':', ':']].into_iter().any(|pair| is_pair(trees, 1, pair));
    !double && trees.get(1).is_some_and(|tree| is_punct(tree, '=') || is_punct(tree, ':'))
}

fn is_path(trees: &[TokenTree]) -> bool {
    let rest = if is_pair(trees, 0, [':', ':']) { &trees[2..] } else { trees };
    match rest {
        [TokenTree::Ident(_)] => true,
        [TokenTree::Ident(_), further @ ..] => is_pair(further, 0, [':', ':']) && is_path(&further[2..]),
        _ => false,
    }
}

fn last_word(path: &[TokenTree]) -> String {
    path.last().map(ToString::to_string).unwrap_or_default()
}
