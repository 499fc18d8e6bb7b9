//! x
pub use crate::{Ctx, Lock};
#[doc(inline)]
pub use crate::__lock as lock;

/// x
#[doc(hidden)]
#[macro_export]
macro_rules! __lock {
    ($($arguments:tt)*) => { $crate::__private::lock_macro! { $crate $($arguments)* } };
}
