//! The program as a user runs it.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

mod access;
mod analyze;
mod backfill_truth;
mod bad_input;
mod compact;
mod demo;
mod demo_live;
mod digest;
mod docs;
mod doctor;
mod every;
mod faults;
mod gpu_truth;
mod import;
mod import_gpureports;
mod known_values;
mod live;
mod memory;
mod metrics;
mod old_data;
mod policy;
mod program;
mod prune;
mod push;
mod real_pool;
mod reconcile;
mod reprocess;
mod serve;
mod server;
mod site;
mod street;
mod stub;
mod summary;
