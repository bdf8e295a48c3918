//! What the program does; a file a command.

pub(crate) mod access;
pub(crate) mod allocations;
pub(crate) mod analyze;
pub(crate) mod backfill;
pub(crate) mod collect;
pub(crate) mod current;
pub(crate) mod demo;
mod demo_config;
pub(crate) mod digest;
pub(crate) mod doctor;
pub(crate) mod export;
pub(crate) mod import;
pub(crate) mod init;
mod live;
pub(crate) mod nodes;
pub(crate) mod notify;
pub(crate) mod output;
mod paper;
pub(crate) mod picture;
pub(crate) mod reconcile;
pub(crate) mod report;
pub(crate) mod reprocess;
pub(crate) mod serve;
pub(crate) mod sql;
pub(crate) mod status;
mod steps;
