//! Helpers.

pub mod file;
pub mod limited;
pub mod sim;
pub mod threads;
pub mod wrong;
