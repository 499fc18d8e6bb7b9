#![doc = include_str!("docs/errors.md")]
#![doc = include_str!("docs/errors-compile.md")]
