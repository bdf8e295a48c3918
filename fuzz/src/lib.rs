//! What has to hold of every parser, whatever text it is given.

use jiff::{SignedDuration, Timestamp};
use source::{Parsed, Parser, parse};
use std::fmt::Debug;

/// How long an observation holds.
pub const HOLD: SignedDuration = SignedDuration::from_mins(30);

pub fn time() -> Timestamp {
    Timestamp::from_second(1_794_709_300).expect("a time of this century is in range")
}

/// Parses a text, and panics if it is read otherwise when it comes in pieces.
pub fn parse_in_pieces<T, P>(parser: impl Fn() -> P, text: &[u8], piece: usize) -> Parsed<T>
where
    T: Debug + PartialEq,
    P: Parser<T>,
{
    let whole = parse(parser(), text);
    let mut in_pieces = parser();
    for piece in text.chunks(piece.max(1)) {
        in_pieces.push(piece);
    }
    assert_eq!(in_pieces.finish(), whole);
    whole
}

/// The first byte of what the fuzzer gives says how long the pieces are, the rest is the text.
pub fn piece_and_text(data: &[u8]) -> (usize, &[u8]) {
    match data.split_first() {
        Some((&piece, text)) => (usize::from(piece), text),
        None => (1, data),
    }
}

/// Panics unless each reject says why, and names a line that there is; none has two.
pub fn check_lines<T>(parsed: &Parsed<T>, text: &[u8]) {
    let lines = text.split(|&byte| byte == b'\n').count();
    assert!(parsed.records.len() + parsed.rejects.len() <= lines);
    let mut last = 0;
    for reject in &parsed.rejects {
        assert!(!reject.reason.is_empty());
        assert!(last < reject.position && reject.position <= lines as u64);
        last = reject.position;
    }
}
