//! Gallery.
fn main() {}
