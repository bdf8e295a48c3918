//! `plimsoll backfill`: what backfill gave and what it cost, and what else can be asked about it.

use anyhow::Result;
use lake::Lake;
use query::ANALYSES;

use crate::Outcome;
use crate::cli::Backfill;
use crate::command::output;
use crate::config::Config;

pub(crate) async fn run(config: &Config, arguments: &Backfill) -> Result<Outcome> {
    output::format(&arguments.output)?;
    let lake = Lake::open(&config.data_dir)?;
    let mut question = arguments.about.question(&lake, config, config.now()).await?;
    question.engine = arguments.workers.engine.clone();
    if let Some(by) = &arguments.by {
        question.options.insert("by".to_owned(), by.clone());
    }
    let summary = query::analysis("backfill-summary")?;
    let mut report = query::run(&lake, summary, &question).await?;
    let others = ANALYSES.iter().filter(|analysis| {
        let is_about_backfill =
            analysis.name.starts_with("backfill") || analysis.name == "evictions";
        is_about_backfill && analysis.name != summary.name
    });
    report.notes.extend(
        others.map(|analysis| format!("{} `plimsoll report {}`", analysis.question, analysis.name)),
    );
    output::write(&[report], &arguments.output)
}
