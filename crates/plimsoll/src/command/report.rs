//! `plimsoll report`: an analysis, answered.

use std::io::{self, Write};

use anyhow::{Context, Result};
use lake::Lake;
use query::ANALYSES;

use crate::Outcome;
use crate::cli::Report;
use crate::command::output;
use crate::config::Config;

pub(crate) async fn run(config: &Config, arguments: &Report) -> Result<Outcome> {
    let Some(name) = &arguments.name else {
        return list();
    };
    let analysis = query::analysis(name)?;
    output::format(&arguments.output)?;
    let lake = Lake::open(&config.data_dir)?;
    let now = config.now();
    let mut question = match analysis.is_about_collecting() {
        true => arguments.about.question_about_collecting(config, now)?,
        false => arguments.about.question(&lake, config, now).await?,
    };
    question.engine = arguments.workers.engine.clone();
    question.top = arguments.top;
    question.options = arguments.options.said();
    question.options.extend(arguments.choices.0.clone());
    question.anonymize = arguments.anonymize;
    let report = query::run(&lake, analysis, &question).await?;
    output::write(&[report], &arguments.output)
}

/// Says which reports there are.
fn list() -> Result<Outcome> {
    let mut text = String::new();
    for analysis in ANALYSES {
        text += &format!("{:<16} {}\n", analysis.name, analysis.question);
    }
    text += "\nplimsoll report NAME [--days N | --from TIME --to TIME]; --help says more\n";
    io::stdout().write_all(text.as_bytes()).context("cannot write")?;
    Ok(Outcome::Done)
}
