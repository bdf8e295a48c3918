//! What a parser gives: the records in a text, and the pieces of it that held none.

/// A parser that is fed piece by piece, so that a day's output is never held whole.
///
/// It does no I/O, reads no clock, and never fails as a whole.
pub trait Parser<T> {
    /// Takes the next piece of the text, cut anywhere.
    fn push(&mut self, piece: &[u8]);

    /// Takes the end of the text.
    fn finish(self) -> Parsed<T>;
}

/// The records in a text, and the pieces of it that could not be read.
#[derive(Debug, PartialEq)]
pub struct Parsed<T> {
    pub records: Vec<T>,
    pub rejects: Vec<Rejected>,
}

/// A piece of a text that could not be read.
#[derive(Clone, Debug, PartialEq)]
pub struct Rejected {
    /// The line, or the number of the ad, from 1.
    pub position: u64,
    pub reason: String,
    pub text: String,
}

impl<T> Default for Parsed<T> {
    fn default() -> Self {
        Parsed { records: Vec::new(), rejects: Vec::new() }
    }
}

impl<T> Parsed<T> {
    /// Sets a piece of the text aside; of a long one the beginning is kept.
    pub(crate) fn reject(&mut self, position: u64, reason: impl Into<String>, text: &[u8]) {
        const LONGEST: usize = 4096;
        let text = &text[..text.len().min(LONGEST)];
        self.rejects.push(Rejected {
            position,
            reason: reason.into(),
            text: String::from_utf8_lossy(text).into_owned(),
        });
    }
}

/// Parses a text that is at hand whole.
pub fn parse<T>(mut parser: impl Parser<T>, text: &[u8]) -> Parsed<T> {
    parser.push(text);
    parser.finish()
}
