//! What a scheduler printed, compressed, so that everything can be derived again.

use std::io::Write;

use anyhow::{Context, Result};
use jiff::Timestamp;

/// The output of one command on its way into the archive.
///
/// A file of the archive is one frame of zstd after another; a frame holds a line of JSON that
/// says what was asked and when, and then the output, byte for byte.
pub struct Archive {
    encoder: zstd::stream::Encoder<'static, Vec<u8>>,
    bytes: u64,
}

impl Archive {
    /// Begins the archive of what `words` printed at `time`.
    pub fn begin(time: Timestamp, words: &[String]) -> Result<Archive> {
        let mut encoder = zstd::stream::Encoder::new(Vec::new(), 1).context("cannot start zstd")?;
        let head = serde_json::json!({ "time": time.to_string(), "command": words });
        writeln!(encoder, "{head}").context("cannot compress")?;
        Ok(Archive { encoder, bytes: 0 })
    }

    /// Takes the next piece of the output.
    pub fn push(&mut self, piece: &[u8]) {
        self.bytes += piece.len() as u64;
        self.encoder.write_all(piece).expect("compressing into memory does not fail");
    }

    /// The frame, and how many bytes were printed.
    pub fn finish(self) -> Result<(Vec<u8>, u64)> {
        Ok((self.encoder.finish().context("cannot compress")?, self.bytes))
    }
}
