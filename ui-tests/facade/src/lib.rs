//! A crate that hands `tako` on, as frameworks do.

pub use tako;
