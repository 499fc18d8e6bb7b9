//! Helpers.

pub mod file;
pub mod limited;
pub mod threads;
pub mod wrong;
