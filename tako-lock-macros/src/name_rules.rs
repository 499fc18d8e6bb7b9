//! What a lock may be called: one table, shared by the macros (while compiling) and the library (at run time).
//!
//! The name becomes part of a storage path, so it is 1 to 64 of `a-z`, `0-9`, `-`; a letter first; no `-` last or
//! doubled. This file is linked into `tako-lock-macros` as well, so it imports nothing.

/// The longest legal name, in bytes.
pub(crate) const MAX_LEN: usize = 64;

/// The first rule that a name breaks, reading from its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NameFault {
    /// There is nothing in it.
    Empty,
    /// The byte at this offset starts a character that is not one of `a-z`, `0-9`, `-`.
    Character { offset: usize },
    /// It starts with a digit or a `-`.
    First,
    /// It has `--`; this is the offset of the second `-`.
    DoubledHyphen { offset: usize },
    /// It ends with `-`.
    LastHyphen,
    /// It has more than [`MAX_LEN`] characters, all of them legal.
    TooLong { length: usize },
}

/// Tells whether `name` is legal, and if not, the first rule that it breaks.
pub(crate) const fn check(name: &str) -> Result<(), NameFault> {
    let bytes = name.as_bytes();
    if bytes.is_empty() {
        return Err(NameFault::Empty);
    }
    let mut offset = 0;
    while offset < bytes.len() {
        match bytes[offset] {
            b'a'..=b'z' => {}
            b'0'..=b'9' if offset > 0 => {}
            b'-' if offset > 0 && bytes[offset - 1] != b'-' => {}
            b'-' if offset > 0 => return Err(NameFault::DoubledHyphen { offset }),
            b'0'..=b'9' | b'-' => return Err(NameFault::First),
            _ => return Err(NameFault::Character { offset }),
        }
        offset += 1;
    }
    if bytes[bytes.len() - 1] == b'-' {
        return Err(NameFault::LastHyphen);
    }
    if bytes.len() > MAX_LEN {
        return Err(NameFault::TooLong { length: bytes.len() });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{MAX_LEN, NameFault, check};

    #[test]
    fn every_rule_has_a_row() {
        use NameFault::{Character, DoubledHyphen, Empty, First, LastHyphen, TooLong};
        let longest = "a".repeat(MAX_LEN);
        let longer = "a".repeat(MAX_LEN + 1);
        let table: &[(&str, Result<(), NameFault>)] = &[
            ("reindex", Ok(())),
            ("a", Ok(())),
            ("re-index-2", Ok(())),
            ("a1-2-b", Ok(())),
            (&longest, Ok(())),
            ("", Err(Empty)),
            ("-x", Err(First)),
            ("1x", Err(First)),
            ("-", Err(First)),
            ("x-", Err(LastHyphen)),
            ("x--y", Err(DoubledHyphen { offset: 2 })),
            ("x--", Err(DoubledHyphen { offset: 2 })),
            ("ReIndex", Err(Character { offset: 0 })),
            ("re index", Err(Character { offset: 2 })),
            ("a/b", Err(Character { offset: 1 })),
            ("a_b", Err(Character { offset: 1 })),
            ("a.b", Err(Character { offset: 1 })),
            ("r\u{435}index", Err(Character { offset: 1 })),
            ("re\u{200b}index", Err(Character { offset: 2 })),
            ("a\0b", Err(Character { offset: 1 })),
            (&longer, Err(TooLong { length: MAX_LEN + 1 })),
        ];
        for (name, expected) in table {
            assert_eq!(check(name), *expected, "{name:?}");
        }
    }
}
