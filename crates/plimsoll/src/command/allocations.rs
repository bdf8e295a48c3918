//! `plimsoll allocations`: how close everyone is to the line.

use anyhow::Result;
use jiff::SignedDuration;
use lake::Lake;
use query::{PeriodEnd, Question};
use report::Period;

use crate::cli::{Allocations, moment};
use crate::command::output;
use crate::config::Config;
use crate::{Outcome, complain};

pub(crate) async fn run(config: &Config, arguments: &Allocations) -> Result<Outcome> {
    output::format(&arguments.output)?;
    if config.allocations.is_empty() {
        complain(
            "there are no allocations: write an [[allocation]] into plimsoll.toml; `plimsoll init \
             example.toml` writes a file with an example",
        );
        return Ok(Outcome::Findings);
    }
    let lake = Lake::open(&config.data_dir)?;
    let now = config.now();
    let (at, period_end) = match &arguments.at {
        Some(at) => (moment("--at", at, &config.zone)?.min(now), None),
        None => {
            let end = PeriodEnd::find(&lake, &arguments.cluster, now).await?;
            (end.time, Some(end))
        }
    };
    // Those that hold at a moment are those that touch the second before it.
    let start = at - SignedDuration::from_secs(1);
    let question = Question {
        clusters: arguments.cluster.clone(),
        groups: config.groups.clone(),
        allocations: config.allocations.clone(),
        judgement: config.judgement.clone(),
        engine: arguments.workers.engine.clone(),
        memory: config.memory.clone(),
        period_end,
        ..Question::about(Period { start, end: at, zone: config.zone.clone() })
    };
    let report = query::run(&lake, query::analysis("allocations")?, &question).await?;
    output::write(&[report], &arguments.output)
}
