//! What is wrong with a name, in words, and the nearest legal name.

use crate::look_alike::{self, LookAlike};
use crate::name_rules::{self, MAX_LEN, NameFault};

/// The first fault of `name` as a sentence; none when it is legal. `noun` is what has the name.
pub(crate) fn fault(noun: &str, name: &str) -> Option<String> {
    let fault = name_rules::check(name).err()?;
    // What cannot be told by eye comes first: the other faults of the same name can be seen.
    let looks = name.chars().enumerate().find_map(|(at, c)| Some((at, c, look_alike::find(c)?)));
    if let Some((at, character, look_alike)) = looks {
        return Some(format!(
            "character {} of the {noun} name is {}",
            at + 1,
            look_alike.describe(character)
        ));
    }
    Some(match fault {
        NameFault::Empty => format!("the {noun} name is empty"),
        NameFault::Character { offset } => {
            let position = name[..offset].chars().count() + 1;
            name[offset..].chars().next().map_or_else(String::new, |c| character(noun, c, position))
        }
        NameFault::First => match name.chars().next() {
            Some('-') => format!("the {noun} name begins with a `-`"),
            digit => format!("the {noun} name begins with a digit, `{}`", digit.unwrap_or('0')),
        },
        NameFault::DoubledHyphen { .. } => format!("the {noun} name has two `-` in a row"),
        NameFault::LastHyphen => format!("the {noun} name ends with a `-`"),
        NameFault::TooLong { length } => {
            format!("the {noun} name has {length} characters, and {MAX_LEN} is the most")
        }
    })
}

fn character(noun: &str, character: char, position: usize) -> String {
    let code = format!("U+{:04X}", u32::from(character));
    match character {
        ' ' => format!("the {noun} name has a space"),
        '_' => format!("the {noun} name has an underscore, `_`"),
        '\n' | '\r' => format!("the {noun} name has a line break"),
        '\t' => format!("the {noun} name has a tab"),
        'A'..='Z' => format!("the {noun} name has a capital, `{character}`"),
        '`' => format!("the {noun} name has a backtick"),
        '!'..='~' => format!("the {noun} name has a `{character}`"),
        _ if character.is_control() => {
            format!("character {position} of the {noun} name is the control character {code}")
        }
        _ if character.is_whitespace() => {
            format!("character {position} of the {noun} name is a special space ({code})")
        }
        _ => format!("character {position} of the {noun} name is `{character}` ({code})"),
    }
}

/// The nearest legal name, where there is one that a person would have chosen.
pub(crate) fn repair(name: &str) -> Option<String> {
    let plain: Vec<char> = name.chars().filter_map(plain).collect();
    let mut repaired = String::new();
    for (at, &character) in plain.iter().enumerate() {
        if starts_word(&plain, at) && !repaired.ends_with('-') {
            repaired.push('-');
        }
        if !(character == '-' && repaired.ends_with('-')) {
            repaired.push(character.to_ascii_lowercase());
        }
    }
    let repaired = repaired.trim_matches('-').to_owned();
    name_rules::check(&repaired).is_ok().then_some(repaired)
}

/// The character of the repaired name; none for what is left out.
fn plain(character: char) -> Option<char> {
    match look_alike::find(character) {
        Some(LookAlike::Letter { like, .. }) if character.is_uppercase() => Some(like.to_ascii_uppercase()),
        Some(look_alike) => look_alike.plain().map(separator),
        None => Some(separator(character)),
    }
}

fn separator(character: char) -> char {
    match character {
        '_' | '/' | '\\' | '.' | ':' => '-',
        _ if character.is_whitespace() => '-',
        _ => character,
    }
}

/// Whether a capital at `at` begins a word, as the `I` of `reIndex` and the `S` of `HTTPServer` do.
fn starts_word(name: &[char], at: usize) -> bool {
    if at == 0 || !name[at].is_ascii_uppercase() {
        return false;
    }
    let before = name[at - 1];
    let small_next = name.get(at + 1).is_some_and(char::is_ascii_lowercase);
    before.is_ascii_lowercase() || before.is_ascii_digit() || (before.is_ascii_uppercase() && small_next)
}

#[cfg(test)]
mod tests {
    use super::{fault, repair};

    #[test]
    fn a_repaired_name_is_the_one_a_person_would_choose() {
        let table = [
            ("ReIndex", Some("re-index")),
            ("REINDEX", Some("reindex")),
            ("HTTPServer", Some("http-server")),
            ("reIndexAll2Go", Some("re-index-all2-go")),
            ("re index", Some("re-index")),
            ("re_index", Some("re-index")),
            ("a/b.c", Some("a-b-c")),
            ("--x--y--", Some("x-y")),
            ("r\u{435}index", Some("reindex")),
            ("\u{420}eindex", Some("peindex")),
            ("re\u{200b}index", Some("reindex")),
            ("re\u{301}index", Some("reindex")),
            ("\u{ff52}eindex", Some("reindex")),
            ("re\u{ff0f}index", Some("re-index")),
            ("re\u{2013}index", Some("re-index")),
            ("", None),
            ("--", None),
            ("2024", None),
            ("caf\u{e9}", None),
            ("a+b", None),
        ];
        for (name, expected) in table {
            assert_eq!(repair(name).as_deref(), expected, "{name:?}");
        }
    }

    #[test]
    fn a_legal_name_has_no_fault_and_is_its_own_repair() {
        for name in ["reindex", "a", "re-index-2"] {
            assert_eq!(fault("lock", name), None);
            assert_eq!(repair(name).as_deref(), Some(name));
        }
    }
}
