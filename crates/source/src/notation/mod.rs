//! Small readers of the notations that schedulers share among their commands.

pub(crate) mod classad;
pub(crate) mod duration;
pub(crate) mod hostlist;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod laws;
pub(crate) mod size;
pub(crate) mod tres;
pub(crate) mod whole;
