//! The item under `#[tako::lock]`, cut into the pieces that the macro looks at. Bodies and types stay raw tokens:
//! it costs less, and half-written code still reaches the compiler and the editor.

use proc_macro2::{Delimiter, Group, Ident, TokenTree};

use crate::parameter::{Parameter, split_at_commas};
use crate::tokens::{Angles, as_group, is_pair, is_punct, is_word, peeled};

#[derive(Debug)]
pub(crate) enum Item {
    Function(Box<Function>),
    Static(Static),
    Other(Other),
}

/// `before fn name generics (arguments) -> output where_clause body`.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) attributes: Vec<Attribute>,
    /// Visibility and qualifiers, without the attributes.
    pub(crate) qualifiers: Vec<TokenTree>,
    pub(crate) fn_token: TokenTree,
    pub(crate) name: Ident,
    pub(crate) generics: Vec<TokenTree>,
    pub(crate) arguments: Group,
    pub(crate) output: Output,
    pub(crate) where_clause: Vec<TokenTree>,
    pub(crate) body: Body,
}

/// What follows the arguments: `-> Type`, or nothing.
#[derive(Debug, Default)]
pub(crate) struct Output {
    pub(crate) arrow: Vec<TokenTree>,
    pub(crate) ty: Vec<TokenTree>,
}

#[derive(Debug)]
pub(crate) enum Body {
    Block(Group),
    /// A declaration of a trait or of foreign code: `;`.
    Missing,
}

/// `#[path …]`, with what follows the path.
#[derive(Debug)]
pub(crate) struct Attribute {
    pub(crate) trees: Vec<TokenTree>,
    pub(crate) path: String,
    pub(crate) arguments: Option<Group>,
}

/// `before static mutable name: ty initializer;`.
#[derive(Debug)]
pub(crate) struct Static {
    /// Everything up to the colon, with it.
    pub(crate) head: Vec<TokenTree>,
    pub(crate) mutable: Option<TokenTree>,
    pub(crate) ty: Vec<TokenTree>,
    /// `= value`, where there is one.
    pub(crate) initializer: Vec<TokenTree>,
    pub(crate) end: TokenTree,
}

/// Something that cannot carry a lock.
#[derive(Debug)]
pub(crate) struct Other {
    /// What it is called, with its article.
    pub(crate) called: &'static str,
    /// The words that say so.
    pub(crate) shown: Vec<TokenTree>,
    pub(crate) trees: Vec<TokenTree>,
}

pub(crate) fn parse(trees: Vec<TokenTree>) -> Item {
    // A whole item forwarded as `$item:item` stands in an invisible group.
    if let [TokenTree::Group(group)] = &trees[..]
        && group.delimiter() == Delimiter::None
    {
        return parse(group.stream().into_iter().collect());
    }
    function(&trees).or_else(|| static_item(&trees)).unwrap_or_else(|| Item::Other(other(trees)))
}

/// Skips the attributes and the visibility; gives the attributes and the place of what follows each.
fn front(trees: &[TokenTree]) -> (Vec<Attribute>, usize, usize) {
    let mut attributes = Vec::new();
    let mut at = 0;
    while let Some(attribute) = attribute(&trees[at..]) {
        at += attribute.trees.len();
        attributes.push(attribute);
    }
    let end_of_attributes = at;
    match trees.get(at) {
        // `$vis:vis` is an invisible group, which may be empty.
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::None => at += 1,
        Some(tree) if is_word(tree, "pub") => {
            at += 1;
            at += usize::from(
                trees.get(at).is_some_and(|tree| as_group(tree, Delimiter::Parenthesis).is_some()),
            );
        }
        _ => {}
    }
    (attributes, end_of_attributes, at)
}

pub(crate) fn attribute(trees: &[TokenTree]) -> Option<Attribute> {
    let [pound, bracket, ..] = trees else { return None };
    let inside = as_group(bracket, Delimiter::Bracket).filter(|_| is_punct(pound, '#'))?;
    let inside = peeled(inside.stream());
    let end = inside.iter().position(|tree| !matches!(tree, TokenTree::Ident(_)) && !is_punct(tree, ':'));
    let (path, rest) = inside.split_at(end.unwrap_or(inside.len()));
    let path = path.iter().map(ToString::to_string).collect();
    let arguments = rest.first().and_then(|tree| as_group(tree, Delimiter::Parenthesis));
    Some(Attribute { trees: trees[..2].to_vec(), path, arguments })
}

fn function(trees: &[TokenTree]) -> Option<Item> {
    let (attributes, start, mut at) = front(trees);
    while let Some(TokenTree::Ident(_) | TokenTree::Literal(_)) = trees.get(at) {
        if is_word(&trees[at], "fn") {
            break;
        }
        let qualifier = ["default", "const", "async", "unsafe", "safe", "extern"];
        let literal = matches!(trees[at], TokenTree::Literal(_));
        if !literal && !qualifier.iter().any(|word| is_word(&trees[at], word)) {
            return None;
        }
        at += 1;
    }
    let fn_token = trees.get(at).filter(|tree| is_word(tree, "fn"))?.clone();
    let qualifiers = trees[start..at].to_vec();
    let TokenTree::Ident(name) = trees.get(at + 1)? else { return None };
    at += 2;
    let generics = run(trees, at, |tree| as_group(tree, Delimiter::Parenthesis).is_some());
    at += generics.len();
    let arguments = as_group(trees.get(at)?, Delimiter::Parenthesis)?;
    at += 1;
    let ends_header = |tree: &TokenTree| is_punct(tree, ';') || as_group(tree, Delimiter::Brace).is_some();
    let mut output = Output::default();
    if is_pair(trees, at, ['-', '>']) {
        output.arrow = trees[at..at + 2].to_vec();
        output.ty = run(trees, at + 2, |tree| is_word(tree, "where") || ends_header(tree)).to_vec();
        at += 2 + output.ty.len();
    }
    let where_clause = run(trees, at, ends_header);
    if where_clause.first().is_some_and(|tree| !is_word(tree, "where")) {
        return None;
    }
    at += where_clause.len();
    let body = match trees.get(at)? {
        tree if is_punct(tree, ';') => Body::Missing,
        tree => Body::Block(as_group(tree, Delimiter::Brace)?),
    };
    (at + 1 == trees.len()).then(|| {
        Item::Function(Box::new(Function {
            attributes,
            qualifiers,
            fn_token,
            name: name.clone(),
            generics: generics.to_vec(),
            arguments,
            output,
            where_clause: where_clause.to_vec(),
            body,
        }))
    })
}

/// The tokens from `start` up to the first that `ends` the run outside of all angle brackets.
fn run(trees: &[TokenTree], start: usize, ends: impl Fn(&TokenTree) -> bool) -> &[TokenTree] {
    let rest = trees.get(start..).unwrap_or_default();
    let mut angles = Angles::default();
    for (length, tree) in rest.iter().enumerate() {
        if angles.closed() && ends(tree) {
            return &rest[..length];
        }
        angles.pass(tree);
    }
    rest
}

fn static_item(trees: &[TokenTree]) -> Option<Item> {
    let (_, _, mut at) = front(trees);
    is_word(trees.get(at)?, "static").then_some(())?;
    at += 1;
    let mutable = trees.get(at).filter(|tree| is_word(tree, "mut")).cloned();
    at += usize::from(mutable.is_some());
    is_punct(trees.get(at + 1)?, ':').then_some(())?;
    at += 2;
    let ty = run(trees, at, |tree| is_punct(tree, '=') || is_punct(tree, ';'));
    let (end, before) = trees.split_last()?;
    let initializer = before.get(at + ty.len()..)?;
    is_punct(end, ';').then(|| {
        Item::Static(Static {
            head: trees[..at].to_vec(),
            mutable,
            ty: ty.to_vec(),
            initializer: initializer.to_vec(),
            end: end.clone(),
        })
    })
}

fn other(trees: Vec<TokenTree>) -> Other {
    let (_, start, at) = front(&trees);
    let known = [
        ("struct", "a struct"),
        ("enum", "an enum"),
        ("union", "a union"),
        ("mod", "a module"),
        ("trait", "a trait"),
        ("impl", "an `impl` block"),
        ("type", "a type"),
        ("use", "a `use`"),
        ("crate", "an `extern crate`"),
        ("extern", "an `extern` block"),
        ("macro_rules", "a macro"),
        ("const", "a constant"),
        ("let", "a `let`"),
    ];
    let named = trees.iter().enumerate().skip(at).take(3).find_map(|(place, tree)| {
        let word =
            if is_word(tree, "extern") && trees.get(place + 1).is_some_and(|next| is_word(next, "crate")) {
                "crate".to_owned()
            } else {
                tree.to_string()
            };
        known.iter().find(|(keyword, _)| *keyword == word).map(|(_, called)| (place, *called))
    });
    let (last, called) = named.unwrap_or((at, "this"));
    let shown = trees.iter().take(last + 2).skip(start);
    // Up to the name, but no further than the keyword where brackets or punctuation follow it.
    let shown = shown
        .enumerate()
        .filter(|(place, tree)| start + place <= last || matches!(tree, TokenTree::Ident(_)));
    let shown = shown.map(|(_, tree)| tree.clone()).collect();
    Other { called, shown, trees }
}

impl Other {
    /// Whether it can stand in an `impl` or a `trait`.
    pub(crate) fn may_be_in_impl(&self) -> bool {
        ["a constant", "a type"].contains(&self.called)
    }
}

impl Function {
    pub(crate) fn parameters(&self) -> Vec<Parameter> {
        split_at_commas(self.arguments.stream()).iter().map(|trees| Parameter::new(trees)).collect()
    }

    pub(crate) fn is_async(&self) -> bool {
        self.qualifiers.iter().any(|tree| is_word(tree, "async"))
    }
}

impl Attribute {
    /// Whether this is `#[tako::lock]`, as far as its path tells.
    pub(crate) fn is_lock(&self) -> bool {
        self.path == "tako::lock" || self.path.ends_with("::tako::lock")
    }
}
