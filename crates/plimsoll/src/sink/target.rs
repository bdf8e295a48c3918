//! Where documents go: a file, the terminal, or a server.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, Result};
use source::Machine;
use source::elasticsearch::{self, Document, Purpose, Pushed};

use super::document::mappings;
use crate::config::SinkTarget;

/// Hands on documents, all of them or none that counts.
pub(super) fn put(
    machine: &dyn Machine,
    target: &SinkTarget,
    documents: &[Document],
) -> Result<Pushed> {
    if documents.is_empty() {
        return Ok(Pushed::default());
    }
    match target {
        SinkTarget::File(path) => add_lines(path, &lines(documents))
            .with_context(|| format!("cannot write {}", path.display()))?,
        SinkTarget::Output => {
            let mut output = io::stdout().lock();
            let printed =
                output.write_all(lines(documents).as_bytes()).and_then(|()| output.flush());
            printed.context("cannot write")?;
        }
        SinkTarget::Server(server) => {
            let server = server.server(Purpose::Write)?;
            return Ok(elasticsearch::push(machine, &server, &mappings(), documents)?);
        }
    }
    Ok(Pushed { taken: documents.len() as u64, ..Pushed::default() })
}

fn lines(documents: &[Document]) -> String {
    documents.iter().map(|document| format!("{}\n", document.text)).collect()
}

/// Adds lines to a file, whole or not at all.
fn add_lines(path: &Path, lines: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().append(true).create(true).open(path)?;
    let length = file.metadata()?.len();
    let written = file.write_all(lines.as_bytes());
    if written.is_err() {
        shorten(&file, length);
    }
    written
}

/// Takes back a part of a line, as when the disk is full.
fn shorten(file: &File, length: u64) {
    // The cause is told; that the rest could not be removed would only hide it.
    let _ = file.set_len(length);
}
