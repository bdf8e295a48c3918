//! What a scheduler printed, compressed, so that everything can be derived again.

use std::io::{BufRead, BufReader, Read, Write};

use anyhow::{Context, Result, bail};
use futures::TryStreamExt;
use jiff::Timestamp;
use jiff::civil::Date;
use object_store::ObjectStore;
use object_store::path::Path;
use serde::{Deserialize, Serialize};
use zstd::zstd_safe::CParameter;

use crate::{Lake, path};

/// What was asked, and when.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// When this command was started.
    pub time: Timestamp,
    /// When the collection began that it was part of.
    pub run: Timestamp,
    /// The time that it was asked about; none if about that moment.
    pub window: Option<(Timestamp, Timestamp)>,
    pub command: Vec<String>,
    /// Why there is no answer, if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// The output of one command on its way into the archive.
///
/// A file of the archive is one frame of zstd after another; a frame holds a line of JSON that
/// says what was asked and when, and then the output, byte for byte.
pub struct Archive {
    encoder: zstd::stream::Encoder<'static, Vec<u8>>,
    bytes: u64,
}

/// Where an answer lies in the archive.
#[derive(Clone, Debug)]
pub struct Frame {
    path: Path,
    /// Of the file's frames, from 0.
    place: usize,
}

impl Frame {
    /// What the answers beside it come from.
    pub fn source(&self) -> Option<String> {
        path::source_of_raw(&self.path)
    }

    /// The day that it is about.
    pub fn day(&self) -> Option<Date> {
        path::date_of_raw(&self.path)
    }
}

/// How far back zstd looks for what was said before, as a power of two of bytes. Lines resemble
/// their neighbours, and 128 KiB stay in a processor's cache: a day of `sacct` takes a sixth less
/// time to compress than with the half MiB of level 1, and 4 % more room.
const WINDOW_LOG: u32 = 17;

/// How many places it remembers where something was said, as a power of two. Fewer than the 2^14 of
/// level 1 stay in the cache nearest to the processor, and find as much in so short a window.
const HASH_LOG: u32 = 12;

impl Archive {
    pub fn begin(asked: &Asked) -> Result<Archive> {
        let mut encoder = zstd::stream::Encoder::new(Vec::new(), 1).context("cannot start zstd")?;
        encoder.window_log(WINDOW_LOG).context("cannot start zstd")?;
        encoder.set_parameter(CParameter::HashLog(HASH_LOG)).context("cannot start zstd")?;
        let head = serde_json::to_string(asked).context("cannot say what was asked")?;
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

impl Lake {
    /// What the archive has of a cluster's answers, by the time they were asked for: what each was
    /// asked, and where it is.
    pub async fn archived(&self, cluster: &str) -> Result<Vec<(Asked, Frame)>> {
        let mut archived = Vec::new();
        let mut listed = self.store.list(Some(&path::raw_folder()));
        while let Some(meta) = listed.try_next().await.context("cannot list the archive")? {
            if path::cluster_of_raw(&meta.location).as_deref() != Some(cluster) {
                continue;
            }
            let shown = || format!("cannot read {}", self.shown(&meta.location));
            let bytes = self.bytes(&meta.location).await?.with_context(shown)?;
            for (place, frame) in frames(&bytes).with_context(shown)?.iter().enumerate() {
                let asked = asked(frame).with_context(shown)?;
                archived.push((asked, Frame { path: meta.location.clone(), place }));
            }
        }
        archived.sort_by(|(one, _), (other, _)| {
            (one.time, &one.command).cmp(&(other.time, &other.command))
        });
        Ok(archived)
    }

    /// The files of the archive with a source's answers about a day, the last first, and their bytes.
    pub async fn archived_about(
        &self,
        source: &str,
        cluster: &str,
        day: Date,
    ) -> Result<Vec<(Path, u64)>> {
        let folder = path::raw_of_day(source, cluster, day);
        let listed = self.store.list_with_delimiter(Some(&folder)).await;
        let listed = listed.with_context(|| format!("cannot list {folder}"))?;
        let mut files: Vec<_> =
            listed.objects.into_iter().map(|file| (file.location, file.size)).collect();
        files.sort_by(|one, other| other.cmp(one));
        Ok(files)
    }

    /// The frames of a file of the archive.
    pub async fn frames(&self, path: &Path) -> Result<Vec<Vec<u8>>> {
        let shown = || format!("cannot read {}", self.shown(path));
        let bytes = self.bytes(path).await?.with_context(shown)?;
        frames(&bytes).with_context(shown)
    }

    /// A frame of the archive.
    pub async fn frame(&self, frame: &Frame) -> Result<Vec<u8>> {
        let frames = self.frames(&frame.path).await?;
        let place = frames.into_iter().nth(frame.place);
        place.with_context(|| format!("cannot read {}", self.shown(&frame.path)))
    }
}

/// Reads a frame back: what was asked, and the output, which goes to `sink` piece by piece.
pub fn replay(frame: &[u8], sink: &mut dyn FnMut(&[u8])) -> Result<Asked> {
    let decoder = zstd::stream::Decoder::with_buffer(frame).context("cannot start zstd")?;
    let mut text = BufReader::with_capacity(64 * 1024, decoder.single_frame());
    let asked = head(&mut text)?;
    loop {
        let piece = text.fill_buf().context("the frame is damaged")?;
        if piece.is_empty() {
            return Ok(asked);
        }
        let length = piece.len();
        sink(piece);
        text.consume(length);
    }
}

/// What a frame says that was asked.
fn asked(frame: &[u8]) -> Result<Asked> {
    let decoder = zstd::stream::Decoder::with_buffer(frame).context("cannot start zstd")?;
    head(&mut BufReader::new(decoder.single_frame()))
}

fn head(text: &mut impl BufRead) -> Result<Asked> {
    const LONGEST: u64 = 1024 * 1024;
    let mut line = Vec::new();
    text.take(LONGEST).read_until(b'\n', &mut line).context("the frame is damaged")?;
    serde_json::from_slice(&line).context("the frame does not say what was asked")
}

/// The frames of a file.
fn frames(mut bytes: &[u8]) -> Result<Vec<Vec<u8>>> {
    let mut frames = Vec::new();
    while !bytes.is_empty() {
        let Ok(length) = zstd::zstd_safe::find_frame_compressed_size(bytes) else {
            bail!("the file is cut off or damaged");
        };
        frames.push(bytes[..length].to_vec());
        bytes = &bytes[length..];
    }
    Ok(frames)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(time: &str, output: &[u8]) -> Vec<u8> {
        let time: Timestamp = time.parse().unwrap();
        let asked = Asked {
            time,
            run: time,
            window: None,
            command: vec!["squeue".to_owned()],
            failure: None,
        };
        let mut archive = Archive::begin(&asked).unwrap();
        archive.push(output);
        archive.finish().unwrap().0
    }

    #[test]
    fn a_long_answer_comes_back_in_pieces() {
        // 64 MiB of lines that resemble one another: what is held of it is a few hundred KiB.
        let line = format!("{}\n", "12|ann|COMPLETED|".repeat(60));
        let lines = (64 << 20) / line.len();
        let output = line.repeat(lines);
        let frame = frame("2026-01-01T00:00:00Z", output.as_bytes());
        assert!(frame.len() < 512 * 1024, "{}", frame.len());
        let (mut bytes, mut longest) = (0, 0);
        replay(&frame, &mut |piece| {
            bytes += piece.len();
            longest = longest.max(piece.len());
        })
        .unwrap();
        assert_eq!(bytes, output.len());
        assert!(longest <= 256 * 1024, "{longest}");
    }

    #[test]
    fn what_was_printed_comes_back_byte_for_byte() {
        let first = frame("2026-01-01T00:00:00Z", b"a\nb\xff");
        let second = frame("2026-01-01T00:05:00Z", b"");
        let file = [first.clone(), second.clone()].concat();
        assert_eq!(frames(&file).unwrap(), [first.clone(), second]);
        let mut output = Vec::new();
        let asked = replay(&first, &mut |piece| output.extend_from_slice(piece)).unwrap();
        assert_eq!(output, b"a\nb\xff");
        assert_eq!(asked.command, ["squeue"]);
        assert!(frames(&file[..file.len() - 3]).is_err());
    }
}
