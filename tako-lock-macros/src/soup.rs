//! A thousand random token soups a macro: no panic, and always code that can be read again.

use std::panic::catch_unwind;
use std::str::FromStr;

use proc_macro2::{Delimiter, Group, Ident, Literal, Punct, Spacing, Span, TokenStream, TokenTree};

use crate::entry::{attribute, bang};
use crate::name_rules;
use crate::naming;

/// Enough letters for every rule to be met; half of the soups start from something sensible.
const WORDS: &[&str] = &[
    "async",
    "fn",
    "static",
    "pub",
    "mut",
    "self",
    "ctx",
    "Ctx",
    "Result",
    "impl",
    "dyn",
    "where",
    "const",
    "unsafe",
    "extern",
    "struct",
    "mod",
    "tako",
    "lock",
    "ttl",
    "name",
    "concat",
    "T",
    "N",
    "crate",
    "true",
    "macro_rules",
    "schedule",
    "tz",
    "singleflight",
];
const TEXTS: &[&str] = &[
    "reindex",
    "",
    "ReIndex",
    "a_b",
    "-",
    "r\u{435}index",
    "\u{301}",
    "x--",
    "\u{feff}\u{1f980}\0",
    "0 3 * * *",
    "60 3 * *",
    "@daily",
    "0 9\u{2013}17 * * *",
    "UTC+2",
    "Europe/Berlin",
];
const PUNCTUATION: &[char] =
    &[',', ':', ';', '<', '>', '-', '=', '&', '!', '#', '.', '\'', '+', '|', '?', '*', '$'];
const SENSIBLE: &[&str] = &[
    "async fn import(ctx: Ctx, feed: &Feed) -> Result<Report, ImportError> { body(feed)?; Ok(1) }",
    "pub(crate) async fn f<'a, T: Fn(A) -> B>(&'a mut self, mut ctx: tako::Ctx, (a, b): (A, B)) -> Result<impl X<T>, E> \
     where T: Send { #![allow(x)] a }",
    "pub static L: Lock;",
    "static mut L: Lock<{ 1 }> = lock!(\"x\");",
    "fn f() {}",
    "async fn r#fn(r#mut: Ctx, r#type: T) -> Result<(), E> { r#fn }",
    "async fn f(self: Box<Self>);",
    "pub struct S { a: u32 }",
    "\"reindex\", ttl = 60, Options { wait: true }",
    "concat!(\"re\", 'i', 1)",
    "name = \"x\"",
];

/// Xorshift: one seed, one soup.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap_or_default() % bound
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    fn tree(&mut self, depth: usize) -> TokenTree {
        match self.below(if depth > 3 { 8 } else { 10 }) {
            0..=2 => TokenTree::Ident(Ident::new(self.of(WORDS), Span::call_site())),
            3..=5 => {
                let spacing = self.of(&[Spacing::Alone, Spacing::Joint]);
                TokenTree::Punct(Punct::new(self.of(PUNCTUATION), spacing))
            }
            6..=7 => TokenTree::Literal(self.literal()),
            _ => {
                let delimiters =
                    [Delimiter::Parenthesis, Delimiter::Brace, Delimiter::Bracket, Delimiter::None];
                let delimiter = self.of(&delimiters);
                TokenTree::Group(Group::new(delimiter, self.soup(6, depth + 1)))
            }
        }
    }

    fn literal(&mut self) -> Literal {
        match self.below(6) {
            0..=2 => Literal::string(self.of(TEXTS)),
            3 => Literal::byte_string(self.of(TEXTS).as_bytes()),
            4 => Literal::character(self.of(&['x', '\u{435}', '\0'])),
            _ => Literal::u64_unsuffixed(self.0),
        }
    }

    fn soup(&mut self, longest: usize, depth: usize) -> TokenStream {
        (0..self.below(longest + 1)).map(|_| self.tree(depth)).collect()
    }

    /// Something sensible with a few tokens lost, doubled or replaced; or no sense at all.
    fn dish(&mut self) -> TokenStream {
        if self.below(3) == 0 {
            return self.soup(12, 0);
        }
        let start = TokenStream::from_str(self.of(SENSIBLE)).unwrap_or_default();
        start.into_iter().flat_map(|tree| self.stirred(tree)).collect()
    }

    /// The arguments of a call, mostly strings in the order that they should have.
    #[cfg(feature = "cron")]
    fn arguments(&mut self) -> TokenStream {
        let meant = ["nightly-rollup", "0 3 * * *", "Europe/Berlin"];
        let comma = || TokenTree::Punct(Punct::new(',', Spacing::Alone));
        let mut trees = Vec::new();
        for at in 0..self.below(5) {
            match self.below(10) {
                0 => trees.extend(self.soup(3, 0)),
                1..=2 => trees.push(TokenTree::Literal(self.literal())),
                _ => trees.push(TokenTree::Literal(Literal::string(meant[at.min(2)]))),
            }
            trees.extend((self.below(20) > 0).then(comma));
        }
        trees
            .into_iter()
            .flat_map(|tree| if self.below(9) == 0 { self.stirred(tree) } else { vec![tree] })
            .collect()
    }

    fn stirred(&mut self, tree: TokenTree) -> Vec<TokenTree> {
        match (self.below(20), tree) {
            (0, _) => Vec::new(),
            (1, tree) => vec![tree.clone(), tree],
            (2, _) => vec![self.tree(0)],
            (3, tree) => vec![TokenTree::Group(Group::new(Delimiter::None, tree.into()))],
            (_, TokenTree::Group(group)) => {
                let inside = group.stream().into_iter().flat_map(|tree| self.stirred(tree)).collect();
                vec![TokenTree::Group(Group::new(group.delimiter(), inside))]
            }
            (_, tree) => vec![tree],
        }
    }
}

/// Runs `cook` on the soups of a thousand seeds.
fn each_seed(cook: impl Fn(&mut Chance) -> Result<(), String> + std::panic::RefUnwindSafe) {
    for seed in 1..=1000_u64 {
        let outcome = catch_unwind(|| cook(&mut Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15))));
        let fault = outcome.unwrap_or_else(|_| Err("the macro panicked".to_owned()));
        assert_eq!(fault, Ok(()), "seed {seed}");
    }
}

/// What came out can be read again, if what went in can be: a quote that lost its lifetime is no code already.
fn reads_again(input: &TokenStream, output: &TokenStream) -> Result<(), String> {
    let code = output.to_string();
    if TokenStream::from_str(&input.to_string()).is_err() {
        return Ok(());
    }
    match TokenStream::from_str(&code) {
        Ok(again) if !again.is_empty() => Ok(()),
        Ok(_) => Err("nothing came out".to_owned()),
        Err(error) => Err(format!("{error} in {code}")),
    }
}

/// The strings of a call and the commas between them, as none; nothing when it has other tokens. A comma at the end is
/// left out.
fn texts(written: &TokenStream) -> Vec<Option<String>> {
    let texts = flat(written.clone()).into_iter().map(|token| match syn::parse_str::<syn::LitStr>(&token) {
        Ok(text) => Some(Some(text.value())),
        Err(_) => (token == ",").then_some(None),
    });
    let mut texts = texts.collect::<Option<Vec<_>>>().unwrap_or_default();
    let _ = texts.pop_if(|last| last.is_none());
    texts
}

/// What `lock!(…)` is answered with.
fn called(written: TokenStream) -> TokenStream {
    let krate = TokenTree::Ident(Ident::new("tako", Span::call_site()));
    bang([krate].into_iter().chain(written).collect())
}

fn refused(output: &TokenStream) -> bool {
    output.to_string().contains("compile_error !")
}

#[test]
fn lock_answers_every_soup() {
    each_seed(|chance| {
        let written = chance.dish();
        let legal = match &texts(&written)[..] {
            [Some(name)] => crate::name_rules::check(name).is_ok(),
            _ => false,
        };
        let output = called(written.clone());
        reads_again(&written, &output)?;
        if refused(&output) == legal { Err(format!("refused: {}, legal: {legal}", !legal)) } else { Ok(()) }
    });
}

/// What is accepted is exactly a legal name, a legal schedule and perhaps a legal zone, whatever else the soup holds.
#[cfg(feature = "cron")]
#[test]
fn cron_answers_every_soup() {
    each_seed(|chance| {
        let written = if chance.below(4) == 0 { chance.dish() } else { chance.arguments() };
        let texts = texts(&written);
        let texts: Vec<Option<&str>> = texts.iter().map(Option::as_deref).collect();
        let pair = |name: &str, schedule: &str| {
            crate::name_rules::check(name).is_ok() && crate::schedule_rules::check(schedule).is_ok()
        };
        let legal = match &texts[..] {
            [Some(name), None, Some(schedule)] => pair(name, schedule),
            [Some(name), None, Some(schedule), None, Some(zone)] => {
                pair(name, schedule) && crate::schedule_rules::zone(zone).is_some()
            }
            _ => false,
        };
        let krate = TokenTree::Ident(Ident::new("tako", Span::call_site()));
        let output = crate::entry::cron_bang([krate].into_iter().chain(written.clone()).collect());
        reads_again(&written, &output)?;
        if refused(&output) == legal {
            Err(format!("refused: {}, legal: {legal}: {written}", !legal))
        } else {
            Ok(())
        }
    });
}

/// The macros take exactly the names that the library takes, and offer none that they would refuse.
#[test]
fn a_name_is_legal_to_the_macros_exactly_when_it_is_to_the_library() {
    const LETTERS: &[char] =
        &['a', 'b', 'z', 'a', 'b', '0', '9', '-', '-', 'A', '_', '/', '\u{435}', '\u{200b}', '"'];
    each_seed(|chance| {
        let length = [0, 1, 3, 8, 63, 64, 65][chance.below(7)];
        let letters = if length > 8 { 5 } else { LETTERS.len() };
        let name: String = (0..length).map(|_| LETTERS[chance.below(letters)]).collect();
        let legal = name_rules::check(&name).is_ok();
        let literal = TokenStream::from(TokenTree::Literal(Literal::string(&name)));
        let item = TokenStream::from_str("pub static L: Lock;").unwrap_or_default();
        if refused(&called(literal.clone())) == legal || refused(&attribute(literal, item)) == legal {
            return Err(format!("{name:?} is legal: {legal}"));
        }
        match naming::repair(&name) {
            Some(repaired) if name_rules::check(&repaired).is_err() => {
                Err(format!("{name:?} became {repaired:?}"))
            }
            Some(repaired) if legal && repaired != name => Err(format!("{name:?} became {repaired:?}")),
            None if legal => Err(format!("{name:?} is not its own repair")),
            _ => Ok(()),
        }
    });
}

#[test]
fn the_attribute_answers_every_soup() {
    each_seed(|chance| {
        let arguments = if chance.below(2) == 0 {
            TokenStream::from(TokenTree::Literal(Literal::string("x")))
        } else {
            chance.dish()
        };
        let item = chance.dish();
        let output = attribute(arguments, item.clone());
        reads_again(&item, &output)?;
        let expanded = output.to_string().contains("__private");
        if refused(&output) == expanded { Err(format!("neither or both: {output}")) } else { Ok(()) }
    });
}

/// Whatever is refused, everything that the user wrote in the item is still there, in its order.
#[test]
fn a_refused_attribute_keeps_the_item() {
    each_seed(|chance| {
        let item = chance.dish();
        let output = attribute(TokenStream::new(), item.clone());
        let mut kept = flat(output).into_iter();
        let mut written = flat(item);
        // A declaration without a body gets one, in the place of its `;`.
        let _ = written.pop_if(|last| last == ";");
        match written.into_iter().find(|token| !kept.any(|other| other == *token)) {
            Some(lost) => Err(format!("{lost} is lost")),
            None => Ok(()),
        }
    });
}

/// The tokens as text, without invisible groups; what is missing in a body shows, what is added does not disturb.
fn flat(stream: TokenStream) -> Vec<String> {
    let mut tokens = Vec::new();
    for tree in stream {
        match tree {
            TokenTree::Group(group) => tokens.extend(flat(group.stream())),
            tree => tokens.push(tree.to_string()),
        }
    }
    tokens
}
