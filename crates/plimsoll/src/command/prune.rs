//! `plimsoll prune`: removes what the schedulers printed long ago.

use anyhow::{Context, Result};
use jiff::tz::TimeZone;
use lake::Lake;
use report::{Unit, Value};

use crate::cli::Prune;
use crate::command::collect::chosen;
use crate::config::Config;
use crate::{Outcome, complain};

pub(crate) async fn run(config: &Config, arguments: &Prune) -> Result<Outcome> {
    let today = config.now().to_zoned(TimeZone::UTC).date();
    let before =
        today.checked_sub(arguments.older_than).context("there were no days so long ago")?;
    let lake = Lake::open(&config.data_dir)?.with_zone(&config.zone);
    let did = if arguments.dry_run { "would remove" } else { "removed" };
    for cluster in chosen(config, &arguments.cluster)? {
        // Nobody may collect or reprocess meanwhile.
        let writer = lake.writer(&cluster.name).await?;
        let pruned = writer.prune_archive(before, arguments.dry_run).await?;
        writer.close().await?;
        let bytes = Unit::Bytes.show(&Value::Number(pruned.bytes as f64), &config.zone);
        let files = if pruned.files == 1 { "file" } else { "files" };
        complain(&format!(
            "{}: {did} {} {files}, {bytes}, about days before {before}",
            cluster.name, pruned.files
        ));
    }
    Ok(Outcome::Done)
}
