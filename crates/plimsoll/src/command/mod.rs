//! What the program does; a file a command.

pub(crate) mod analyze;
pub(crate) mod collect;
pub(crate) mod demo;
pub(crate) mod init;
pub(crate) mod output;
pub(crate) mod report;
pub(crate) mod serve;
pub(crate) mod sql;
pub(crate) mod status;
