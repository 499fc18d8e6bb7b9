//! `lock!`, the attribute on a `static`, and the list of all declarations.

use tako::prelude::*;

static RELOCK: Lock = lock!("reindex");
static AGAIN: Lock = lock!["reindex",];
static BRACES: Lock = lock! { r"raw-2" };
static RAW: Lock = lock!(r##"raw"##);
static QUALIFIED: tako::Lock = tako::prelude::lock!("qualified");

#[tako::lock("rollup")]
static ROLLUP: Lock;
/// Documented, public, with attributes.
#[tako::lock("public")]
#[cfg(not(any()))]
pub(crate) static PUBLIC: tako::Lock;
#[tako::lock("never")]
#[cfg(any())]
static NEVER: NoSuchType;

/// Sixty-four characters.
static LONGEST: Lock = lock!("a234567890-234567890-234567890-234567890-234567890-234567890-234");
static SHORTEST: Lock = lock!("a");

macro_rules! declare {
    ($(#[$meta:meta])* $visibility:vis $name:ident, $work:literal) => {
        $(#[$meta])*
        $visibility static $name: Lock = lock!($work);
    };
    (expression $name:ident, $work:expr) => {
        static $name: Lock = lock!($work);
    };
    (again $name:ident, $work:literal) => {
        declare!(pub(crate) $name, $work);
    };
    (attribute $name:ident, $ty:ty, $work:literal) => {
        #[tako::lock($work)]
        static $name: $ty;
    };
    (item $item:item) => {
        #[tako::lock("item")]
        $item
    };
}
declare!(
    /// By a macro.
    FORWARDED, "forwarded");
declare!(expression EXPRESSION, "expression");
declare!(again TWICE_FORWARDED, "twice-forwarded");
declare!(attribute ATTRIBUTE, Lock, "attribute");
declare!(item static ITEM: Lock;);

/// A public lock, under `missing_docs` and `unreachable_pub`.
pub(crate) struct Shop;

impl Shop {
    /// In an associated function, where a `static` may stand too.
    fn stock() -> &'static Lock {
        static STOCK: Lock = lock!("stock");
        &STOCK
    }
}

#[test]
fn each_static_has_its_name() {
    let names = [
        (&RELOCK, "reindex"),
        (&AGAIN, "reindex"),
        (&BRACES, "raw-2"),
        (&RAW, "raw"),
        (&QUALIFIED, "qualified"),
        (&ROLLUP, "rollup"),
        (&PUBLIC, "public"),
        (&SHORTEST, "a"),
        (&FORWARDED, "forwarded"),
        (&EXPRESSION, "expression"),
        (&TWICE_FORWARDED, "twice-forwarded"),
        (&ATTRIBUTE, "attribute"),
        (&ITEM, "item"),
        (Shop::stock(), "stock"),
    ];
    for (lock, name) in names {
        assert_eq!(lock.name(), name);
    }
    assert_eq!(LONGEST.name().len(), 64);
}

fn lines(name: &str) -> Vec<(&'static str, u32, &'static str)> {
    let mut lines: Vec<_> = tako::declared()
        .into_iter()
        .filter(|declaration| declaration.name == name)
        .map(|declaration| (declaration.file, declaration.line, declaration.module))
        .collect();
    lines.sort_unstable();
    lines
}

#[test]
fn every_declaration_is_listed_where_it_stands() {
    let reindex = lines("reindex");
    assert_eq!(reindex.len(), 2, "two declarations of one name: {reindex:?}");
    assert!(reindex.iter().all(|(file, ..)| file.ends_with("pass/declarations.rs")), "{reindex:?}");
    assert_eq!(reindex[1].1, reindex[0].1 + 1);
    assert_eq!(reindex[0].2, "pass::declarations");
    assert_eq!(lines("rollup").len(), 1);
    assert_eq!(lines("stock")[0].1, line_of_stock());
    assert_eq!(lines("never").len(), 0, "it was configured away");
    assert_eq!(lines("attributes-under-a-function").len(), 1, "declared by a function, never called");
}

fn line_of_stock() -> u32 {
    let text = include_str!("declarations.rs");
    let before =
        text.lines().position(|line| line.contains("static STOCK: Lock = lock!")).unwrap_or_default();
    u32::try_from(before + 1).unwrap_or_default()
}

#[test]
fn a_lock_may_be_named_in_a_constant_context() {
    const LOCK: Lock = lock!("constant-context");
    static SAME: &Lock = &LOCK;
    assert_eq!(SAME.name(), "constant-context");
}
