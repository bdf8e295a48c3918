//! Reports to the terminal or a file.

use std::io::{self, IsTerminal, Write};

use anyhow::{Context, Result, bail};
use report::Report;
use view::{FORMATS, Format, Look};

use crate::cli::Output;
use crate::{Outcome, complain};

/// The format that is asked for, by name or by the file's ending.
pub(crate) fn format(output: &Output) -> Result<&'static dyn Format> {
    if let Some(name) = &output.format {
        return match view::by_name(name) {
            Some(format) => Ok(format),
            None => {
                let names = FORMATS.map(|format| format.name());
                match query::nearest(name, names) {
                    Some(near) => bail!("there is no format {name:?}; did you mean {near:?}?"),
                    None => bail!("there is no format {name:?}; there are {}", names.join(", ")),
                }
            }
        };
    }
    let Some(file) = &output.output else {
        return Ok(view::by_name("text").expect("text is one of the formats"));
    };
    view::by_extension(file).with_context(|| {
        format!(
            "the ending of {} names no format; give --format ({})",
            file.display(),
            FORMATS.map(|format| format.name()).join(", ")
        )
    })
}

/// Writes reports one after the other; files that could not be read are findings.
pub(crate) fn write(reports: &[Report], output: &Output) -> Result<Outcome> {
    let format = format(output)?;
    let look = match output.output {
        Some(_) => Look::default(),
        None => terminal(),
    };
    let bytes = format.render(reports, &look);
    match &output.output {
        Some(file) => std::fs::write(file, bytes)
            .with_context(|| format!("cannot write {}", file.display()))?,
        None => {
            let mut terminal = io::stdout().lock();
            terminal.write_all(&bytes).and_then(|()| terminal.flush()).context("cannot write")?;
        }
    }
    let mut skipped: Vec<_> = reports.iter().flat_map(|report| &report.coverage.skipped).collect();
    skipped.dedup();
    for file in &skipped {
        complain(&format!("warning: left out {}: {}", file.path, file.reason));
    }
    Ok(if skipped.is_empty() { Outcome::Done } else { Outcome::Findings })
}

/// How things look on this terminal.
#[expect(clippy::disallowed_methods, reason = "NO_COLOR is the user's wish about the terminal")]
pub(crate) fn terminal() -> Look {
    let is_terminal = io::stdout().is_terminal();
    let width = is_terminal.then(terminal_width).flatten();
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    Look { width, color: is_terminal && !no_color }
}

fn terminal_width() -> Option<usize> {
    let (_, columns) = console::Term::stdout().size_checked()?;
    Some(usize::from(columns))
}
