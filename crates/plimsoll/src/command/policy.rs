//! `plimsoll policy`: the site policies that the lake stores.

use anyhow::{Result, bail};
use lake::Lake;
use query::Question;

use crate::cli::{PolicyList, PolicySet, moment};
use crate::command::collect::chosen;
use crate::command::output;
use crate::config::Config;
use crate::{Outcome, complain};

const STORED: &str =
    "SELECT cluster, valid_from, kind, pattern, value, family, tier, weight, memory_gb, hidden
     FROM site_policy
     ORDER BY cluster, valid_from, rule";

pub(crate) async fn list(config: &Config, arguments: &PolicyList) -> Result<Outcome> {
    output::format(&arguments.output)?;
    let lake = Lake::open(&config.data_dir)?;
    let period = query::whole_period(&lake, &config.zone, config.now()).await?;
    let question = Question {
        clusters: arguments.cluster.clone(),
        memory: config.memory.clone(),
        ..Question::about(period)
    };
    let mut report = query::sql(&lake, STORED, usize::MAX, &question).await?;
    report.name = "policy".to_owned();
    report.title = "Stored site policies".to_owned();
    output::write(&[report], &arguments.output)
}

pub(crate) async fn set(config: &Config, arguments: &PolicySet) -> Result<Outcome> {
    let (now, from) = (config.now(), moment("--from", &arguments.from, &config.zone)?);
    if from > now {
        bail!(
            "--from {} is in the future; a policy applies from a time that has been",
            arguments.from
        );
    }
    let lake = Lake::open(&config.data_dir)?.with_zone(&config.zone);
    for cluster in chosen(config, &arguments.cluster)? {
        let name = &cluster.name;
        let rows = query::policy_rows(&config.judgement, name, "configuration", from, now);
        let mut writer = lake.writer(name).await?;
        // First: if it is stopped in between, what is removed next is still there to be removed.
        writer.put_policy(&rows).await?;
        let removed = writer.remove_policies_after(from).await?;
        writer.finish().await?;
        let from = from.to_zoned(config.zone.clone()).strftime("%Y-%m-%d %H:%M %Z");
        complain(&format!(
            "{name}: {} rules apply from {from} on; {removed} later policies removed",
            rows.len() - 1
        ));
    }
    Ok(Outcome::Done)
}
