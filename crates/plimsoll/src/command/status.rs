//! `plimsoll status`: what is kept, how fresh it is, and what went wrong.

use anyhow::Result;
use lake::Lake;

use crate::Outcome;
use crate::cli::Status;
use crate::command::output;
use crate::config::Config;

pub(crate) async fn run(config: &Config, arguments: &Status) -> Result<Outcome> {
    output::format(&arguments.output)?;
    let lake = Lake::open(&config.data_dir)?;
    let now = config.now();
    let reports = query::status(&lake, &config.zone, now, &config.memory).await?;
    output::write(&reports, &arguments.output)
}
