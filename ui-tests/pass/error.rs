//! The error that the functions of these tests return.

#[derive(Debug, thiserror::Error)]
pub(crate) enum WorkError {
    #[error(transparent)]
    Lock(#[from] tako::LockError),
    #[error("no number")]
    Number(#[from] std::num::ParseIntError),
}
