//! Small questions about token trees, asked by several files.

use proc_macro2::{Delimiter, Group, Spacing, TokenStream, TokenTree};

/// The longest piece of the user's code that a message repeats.
const LONGEST_QUOTE: usize = 48;

/// The trees of `stream` with every invisible group opened, however deep it is nested in others: `macro_rules`
/// wraps what it forwards (`$name:literal`, `$body:block`) in such groups.
pub(crate) fn peeled(stream: TokenStream) -> Vec<TokenTree> {
    let mut trees = Vec::new();
    for tree in stream {
        match tree {
            TokenTree::Group(group) if group.delimiter() == Delimiter::None => {
                trees.extend(peeled(group.stream()));
            }
            tree => trees.push(tree),
        }
    }
    trees
}

/// The group itself, or the one that is alone inside an invisible group.
pub(crate) fn as_group(tree: &TokenTree, delimiter: Delimiter) -> Option<Group> {
    let TokenTree::Group(group) = tree else { return None };
    if group.delimiter() == delimiter {
        return Some(group.clone());
    }
    if group.delimiter() != Delimiter::None {
        return None;
    }
    let inside: Vec<TokenTree> = group.stream().into_iter().collect();
    match &inside[..] {
        [alone] => as_group(alone, delimiter),
        _ => None,
    }
}

pub(crate) fn is_word(tree: &TokenTree, word: &str) -> bool {
    matches!(tree, TokenTree::Ident(ident) if ident == word)
}

pub(crate) fn is_punct(tree: &TokenTree, character: char) -> bool {
    matches!(tree, TokenTree::Punct(punct) if punct.as_char() == character)
}

/// Whether `trees` goes on at `at` with these two characters, written together, such as `->` or `::`.
pub(crate) fn is_pair(trees: &[TokenTree], at: usize, pair: [char; 2]) -> bool {
    let [Some(TokenTree::Punct(first)), Some(TokenTree::Punct(second))] = [trees.get(at), trees.get(at + 1)]
    else {
        return false;
    };
    first.as_char() == pair[0] && first.spacing() == Spacing::Joint && second.as_char() == pair[1]
}

/// Follows the nesting of `<` and `>`, and does not take the `>` of a `->` for a bracket.
#[derive(Default)]
pub(crate) struct Angles {
    depth: usize,
    after_dash: bool,
}

impl Angles {
    pub(crate) fn pass(&mut self, tree: &TokenTree) {
        if is_punct(tree, '<') {
            self.depth += 1;
        } else if is_punct(tree, '>') && !self.after_dash {
            self.depth = self.depth.saturating_sub(1);
        }
        self.after_dash = matches!(tree, TokenTree::Punct(punct)
            if punct.as_char() == '-' && punct.spacing() == Spacing::Joint);
    }

    pub(crate) fn closed(&self) -> bool {
        self.depth == 0
    }
}

/// The user's code on one line, cut short where it is long.
pub(crate) fn quote_code(trees: &[TokenTree]) -> String {
    let code: String = whole_code(trees);
    if code.chars().count() <= LONGEST_QUOTE {
        return code;
    }
    code.chars().take(LONGEST_QUOTE - 1).chain(['…']).collect()
}

/// The user's code on one line.
pub(crate) fn whole_code(trees: &[TokenTree]) -> String {
    let code = trees.iter().cloned().collect::<TokenStream>().to_string();
    code.split_whitespace().collect::<Vec<_>>().join(" ")
}
