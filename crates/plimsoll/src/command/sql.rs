//! `plimsoll sql`: the user's own question.

use anyhow::Result;
use lake::Lake;

use crate::Outcome;
use crate::cli::Sql;
use crate::command::output;
use crate::config::Config;

pub(crate) async fn run(config: &Config, arguments: &Sql) -> Result<Outcome> {
    output::format(&arguments.output)?;
    let lake = Lake::open(&config.data_dir)?;
    let now = config.now();
    let mut question = arguments.about.question_about_all(&lake, config, now).await?;
    question.engine = arguments.workers.engine.clone();
    let report = query::sql(&lake, &arguments.statement, arguments.limit, &question).await?;
    output::write(&[report], &arguments.output)
}
