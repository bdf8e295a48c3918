//! `plimsoll completions` and `plimsoll man`: from the definition of the command line itself.

use std::fs;
use std::io::{self, Write};

use anyhow::{Context, Result};
use clap::CommandFactory;

use crate::Outcome;
use crate::cli::{Cli, Completions, Man};

pub(crate) fn completions(arguments: &Completions) -> Result<Outcome> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Cli::command(), "plimsoll", &mut script);
    io::stdout().write_all(&script).context("cannot write")?;
    Ok(Outcome::Done)
}

/// A page for the program, and one for each command.
pub(crate) fn man(arguments: &Man) -> Result<Outcome> {
    let folder = &arguments.folder;
    fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(Cli::command(), folder))
        .with_context(|| format!("cannot write manual pages into {}", folder.display()))?;
    Ok(Outcome::Done)
}
