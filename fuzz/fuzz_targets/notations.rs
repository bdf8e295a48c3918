//! Durations, sizes, lists of hosts, resources and ads: their laws are in `notation/laws.rs`.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| source::check_notations(data));
