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
    let code = whole_code(trees);
    if code.chars().count() <= LONGEST_QUOTE {
        return code;
    }
    code.chars().take(LONGEST_QUOTE - 1).chain(['…']).collect()
}

/// The user's code on one line, spaced as people space types and calls: the compiler's own way of printing tokens that
/// were taken apart is `pub static T : Vec < u8 >`.
pub(crate) fn whole_code(trees: &[TokenTree]) -> String {
    let mut code = String::new();
    let mut after_pair = false;
    for (at, tree) in trees.iter().enumerate() {
        let pair =
            at > 0 && [['-', '>'], [':', ':'], ['=', '>']].iter().any(|pair| is_pair(trees, at - 1, *pair));
        let tight = match at.checked_sub(1).map(|before| &trees[before]) {
            None => true,
            Some(before) => {
                pair || binds_right(before, after_pair) || binds_left(tree, before, trees.get(at + 1))
            }
        };
        if !tight {
            code.push(' ');
        }
        after_pair = pair;
        match tree {
            TokenTree::Group(group) => code.push_str(&group_code(group)),
            tree => code.push_str(&tree.to_string()),
        }
    }
    code
}

fn group_code(group: &Group) -> String {
    let inside: Vec<TokenTree> = group.stream().into_iter().collect();
    let inside = whole_code(&inside);
    match group.delimiter() {
        Delimiter::Parenthesis => format!("({inside})"),
        Delimiter::Bracket => format!("[{inside}]"),
        Delimiter::Brace if inside.is_empty() => "{}".to_owned(),
        Delimiter::Brace => format!("{{ {inside} }}"),
        Delimiter::None => inside,
    }
}

/// Whether nothing stands between this token and the next.
fn binds_right(tree: &TokenTree, ends_pair: bool) -> bool {
    match tree {
        TokenTree::Punct(punct) if ends_pair => punct.as_char() == ':',
        TokenTree::Punct(punct) => "&<'.!#-$".contains(punct.as_char()),
        _ => false,
    }
}

/// Whether nothing stands between this token and the one before it.
fn binds_left(tree: &TokenTree, before: &TokenTree, after: Option<&TokenTree>) -> bool {
    match tree {
        TokenTree::Punct(punct) if punct.as_char() == '-' => !after.is_some_and(|after| is_punct(after, '>')),
        TokenTree::Punct(punct) => ",;:.?><!".contains(punct.as_char()),
        TokenTree::Group(group) if group.delimiter() == Delimiter::Parenthesis => {
            matches!(before, TokenTree::Ident(_)) || is_punct(before, '>')
        }
        TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket => {
            matches!(before, TokenTree::Ident(ident) if ident != "mut")
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use proc_macro2::{TokenStream, TokenTree};

    use super::whole_code;

    #[test]
    fn code_is_spaced_as_people_space_it() -> Result<(), proc_macro2::LexError> {
        let table = [
            "pub static T: Vec<u8>;",
            "async fn f<'a, T: Fn(A) -> B>(&self, ctx: Ctx, feed: &'a mut [u8]) -> Result<(), tako::LockError>",
            "Duration::from_secs(60)",
            "Options { ttl: 60 }",
            "String::from(\"x\")",
            "\"a\".to_string()",
            "re-index",
            "-1",
            "impl Iterator<Item = u32> + '_",
        ];
        for code in table {
            let trees: Vec<TokenTree> = code.parse::<TokenStream>()?.into_iter().collect();
            assert_eq!(whole_code(&trees), code);
        }
        Ok(())
    }
}
