//! Characters that a reader takes for others, or does not see at all.

/// What a look-alike is, and what it looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LookAlike {
    /// Another alphabet's letter that looks like this ASCII character.
    Letter { alphabet: &'static str, like: char },
    /// A full-width form of this ASCII character.
    FullWidth { like: char },
    /// A dash that is not the `-` of the keyboard.
    Dash { called: &'static str },
    /// Nothing that can be seen.
    Invisible { called: &'static str },
    /// An accent that sits on the character before it.
    Combining,
}

/// Small letters only: a capital is looked up by its small form.
const CYRILLIC: &[(char, char)] = &[
    ('а', 'a'),
    ('в', 'b'),
    ('с', 'c'),
    ('ԁ', 'd'),
    ('е', 'e'),
    ('һ', 'h'),
    ('і', 'i'),
    ('ј', 'j'),
    ('к', 'k'),
    ('м', 'm'),
    ('н', 'h'),
    ('о', 'o'),
    ('р', 'p'),
    ('ѕ', 's'),
    ('т', 't'),
    ('у', 'y'),
    ('ԝ', 'w'),
    ('х', 'x'),
];

const GREEK: &[(char, char)] = &[
    ('α', 'a'),
    ('β', 'b'),
    ('ε', 'e'),
    ('ι', 'i'),
    ('κ', 'k'),
    ('ν', 'v'),
    ('ο', 'o'),
    ('ρ', 'p'),
    ('τ', 't'),
    ('υ', 'u'),
    ('χ', 'x'),
];

const DASHES: &[(char, &str)] = &[
    ('\u{2010}', "hyphen"),
    ('\u{2011}', "non-breaking hyphen"),
    ('\u{2012}', "figure dash"),
    ('\u{2013}', "en dash"),
    ('\u{2014}', "em dash"),
    ('\u{2212}', "minus sign"),
];

const INVISIBLE: &[(char, &str)] = &[
    ('\u{ad}', "a soft hyphen"),
    ('\u{200b}', "a zero-width space"),
    ('\u{200c}', "a zero-width non-joiner"),
    ('\u{200d}', "a zero-width joiner"),
    ('\u{200e}', "a left-to-right mark"),
    ('\u{200f}', "a right-to-left mark"),
    ('\u{202a}', "a left-to-right embedding"),
    ('\u{202b}', "a right-to-left embedding"),
    ('\u{202c}', "the end of a text direction"),
    ('\u{202d}', "a left-to-right override"),
    ('\u{202e}', "a right-to-left override"),
    ('\u{2060}', "a word joiner"),
    ('\u{feff}', "a byte order mark"),
];

/// What `character` only looks like, if it is one of these.
pub(crate) fn find(character: char) -> Option<LookAlike> {
    let small = character.to_lowercase().next().unwrap_or(character);
    let among = |table: &[(char, char)]| table.iter().find(|(odd, _)| *odd == small).map(|(_, like)| *like);
    let called = |table: &[(char, &'static str)]| {
        table.iter().find(|(odd, _)| *odd == character).map(|(_, called)| *called)
    };
    if let Some(like) = among(CYRILLIC) {
        return Some(LookAlike::Letter { alphabet: "Cyrillic", like });
    }
    if let Some(like) = among(GREEK) {
        return Some(LookAlike::Letter { alphabet: "Greek", like });
    }
    if let Some(called) = called(DASHES) {
        return Some(LookAlike::Dash { called });
    }
    if let Some(called) = called(INVISIBLE) {
        return Some(LookAlike::Invisible { called });
    }
    match character {
        '\u{ff01}'..='\u{ff5e}' => {
            let like = char::from_u32(u32::from(character) - 0xfee0)?;
            Some(LookAlike::FullWidth { like })
        }
        '\u{300}'..='\u{36f}' => Some(LookAlike::Combining),
        _ => None,
    }
}

impl LookAlike {
    /// The character to write instead; none where the best is to leave it out.
    pub(crate) fn plain(self) -> Option<char> {
        match self {
            LookAlike::Letter { like, .. } | LookAlike::FullWidth { like } => Some(like),
            LookAlike::Dash { .. } => Some('-'),
            LookAlike::Invisible { .. } | LookAlike::Combining => None,
        }
    }

    /// Completes the sentence "character 2 of the lock name is …".
    pub(crate) fn describe(self, character: char) -> String {
        let code = format!("U+{:04X}", u32::from(character));
        match self {
            LookAlike::Letter { alphabet, like } => {
                format!("the {alphabet} `{character}` ({code}), which only looks like `{like}`")
            }
            LookAlike::FullWidth { like } => {
                format!("the full-width `{character}` ({code}), which only looks like `{like}`")
            }
            LookAlike::Dash { called } => {
                format!("the {called} `{character}` ({code}), which only looks like `-`")
            }
            LookAlike::Invisible { called } => format!("{called} ({code}), which cannot be seen"),
            LookAlike::Combining => {
                format!("a combining accent ({code}), which is drawn over the character before it")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::find;

    #[test]
    fn every_replacement_is_plain_and_nothing_plain_is_replaced() {
        for character in (0..=0x1_ffff).filter_map(char::from_u32) {
            let found = find(character);
            assert!(found.is_none() || !character.is_ascii(), "{character:?}");
            let plain = found.and_then(super::LookAlike::plain);
            assert!(plain.is_none_or(|plain| plain.is_ascii_graphic()), "{character:?} as {plain:?}");
        }
    }
}
