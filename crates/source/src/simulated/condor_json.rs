//! Writes ClassAds as HTCondor's `-json` does: attributes in alphabetical order, an ad's braces
//! and the commas between ads on lines of their own, and nothing at all where there is no ad.

use std::io::Write;

use super::arguments::{Arguments, Known, flag, value};
use super::condor_pool::{ACCESS_POINTS, access_point_name};
use super::text::Output;
use crate::machine::{Command, Failure};

pub(super) const OPTIONS: [Known; 9] = [
    flag(&["-json"]),
    flag(&["-epochs"]),
    flag(&["-any"]),
    flag(&["-allusers"]),
    flag(&["-totals"]),
    value(&["-name"]),
    value(&["-constraint"]),
    value(&["-attributes"]),
    value(&["-limit"]),
];

/// Prints the version for `condor_status -version` and `condor_q -version`; false for other
/// commands. `condor_history` has no such option, as in real releases.
pub(super) fn prints_version(command: &Command, sink: &mut dyn FnMut(&[u8])) -> bool {
    let is_asked = matches!(command.program, "condor_status" | "condor_q")
        && command.arguments.iter().eq(["-version"]);
    if is_asked {
        sink(b"$CondorVersion: 24.12.13 2025-09-23 $\n$CondorPlatform: x86_64_Debian12 $\n");
    }
    is_asked
}

/// The number of the access point that was asked by name. Without a name all of them answer here,
/// as if they were one.
pub(super) fn access_point(arguments: &Arguments) -> Result<Option<u32>, Failure> {
    let Some(name) = arguments.get("-name") else { return Ok(None) };
    let known = (0..ACCESS_POINTS).find(|&number| access_point_name(number) == name);
    known.map(Some).ok_or_else(|| {
        arguments.failure(format!("Error: Collector has no record of schedd/submitter: {name}"))
    })
}

/// The attributes asked for, of those that are known, in the order in which they are printed.
/// As with the real programs, one that is not known is nowhere defined and so left out.
pub(super) fn attributes<T: Copy>(
    arguments: &Arguments,
    known: &[(&'static str, T)],
) -> Vec<(&'static str, T)> {
    let mut found: Vec<_> = match arguments.get("-attributes") {
        None => known.to_vec(),
        Some(asked) => {
            let is_asked = |name: &str| asked.split(',').any(|one| one.eq_ignore_ascii_case(name));
            known.iter().copied().filter(|(name, _)| is_asked(name)).collect()
        }
    };
    found.sort_by_key(|(name, _)| name.to_ascii_lowercase());
    found
}

/// A list of ads, as it is printed.
pub(super) struct Ads<'a> {
    pub(super) output: Output<'a>,
    any: bool,
}

impl<'a> Ads<'a> {
    pub(super) fn new(sink: &'a mut dyn FnMut(&[u8])) -> Ads<'a> {
        Ads { output: Output::new(sink), any: false }
    }

    /// Prints one ad; `write` gives the value of an attribute, or None where it is undefined.
    pub(super) fn ad<T: Copy>(
        &mut self,
        attributes: &[(&'static str, T)],
        mut value: impl FnMut(T, &mut Vec<u8>) -> Option<()>,
    ) {
        let out = &mut self.output.text;
        out.extend_from_slice(if self.any { b",\n{" } else { b"[\n{" });
        self.any = true;
        let mut separator: &[u8] = b"\n  \"";
        for &(name, attribute) in attributes {
            let before = out.len();
            out.extend_from_slice(separator);
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(b"\": ");
            match value(attribute, out) {
                Some(()) => separator = b",\n  \"",
                None => out.truncate(before),
            }
        }
        out.extend_from_slice(b"\n}\n");
        self.output.flow();
    }

    pub(super) fn finish(mut self) {
        if self.any {
            self.output.text.extend_from_slice(b"]\n");
        }
        self.output.finish();
    }
}

/// A string; what is written here holds nothing that JSON would have to escape but slashes.
pub(super) fn string(out: &mut Vec<u8>, text: std::fmt::Arguments) -> Option<()> {
    out.push(b'"');
    out.write_fmt(text).ok()?;
    out.push(b'"');
    Some(())
}

pub(super) fn plain(out: &mut Vec<u8>, text: std::fmt::Arguments) -> Option<()> {
    out.write_fmt(text).ok()
}

pub(super) fn truth(out: &mut Vec<u8>, value: bool) -> Option<()> {
    plain(out, format_args!("{value}"))
}

/// A real number, which keeps its point: `0.0`.
pub(super) fn real(out: &mut Vec<u8>, value: f64) -> Option<()> {
    plain(out, format_args!("{value:?}"))
}
