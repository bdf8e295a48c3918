//! The program as a user runs it.

mod bad_input;
mod demo;
mod docs;
mod program;
mod street;
