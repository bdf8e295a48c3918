//! Pictures of a report's numbers, a file a kind.

pub(crate) mod bar;
