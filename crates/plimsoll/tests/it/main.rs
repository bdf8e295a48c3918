//! The program as a user runs it.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

mod analyze;
mod bad_input;
mod demo;
mod docs;
mod program;
mod serve;
mod street;
