//! `plimsoll export`: what others read, as files.

use std::io::Write;

use anyhow::{Context, Result, bail};
use lake::Lake;
use query::metric::{COMPATIBLE_PAGES, LastSeen, compatible_page};
use source::{Live, Machine};
use view::PROMETHEUS;

use crate::Outcome;
use crate::cli::ExportMetrics;
use crate::config::Config;

/// Writes what was last seen for node_exporter's textfile collector, or for a look.
pub(crate) async fn metrics(config: &Config, arguments: &ExportMetrics) -> Result<Outcome> {
    let seen = LastSeen::load(&Lake::open(&config.data_dir)?).await?;
    let families = match &arguments.names {
        None => {
            let mut families = seen.health(Live::default().now());
            families.extend(seen.state(&config.metrics));
            families
        }
        Some(names) => {
            let Some(page) = compatible_page(names) else {
                let known = COMPATIBLE_PAGES.each_ref().map(|page| page.name).join(", ");
                bail!("there are no metrics in the names of {names:?}; there are {known}");
            };
            let cluster = match (&arguments.cluster, &seen.slurm_clusters().collect::<Vec<_>>()[..])
            {
                (Some(name), _) => name.clone(),
                (None, [only]) => (*only).to_owned(),
                (None, []) => {
                    bail!("nothing was seen of a SLURM cluster yet; `plimsoll collect` looks")
                }
                (None, several) => bail!(
                    "these names cannot tell clusters apart: name one with --cluster ({})",
                    several.join(", ")
                ),
            };
            let families = seen.compatible(page, &cluster);
            families.with_context(|| format!("nothing was seen of a cluster {cluster:?} yet"))?
        }
    };
    let text = PROMETHEUS.render(&families);
    match &arguments.output {
        Some(file) => {
            // Who reads the folder at this moment finds the file whole.
            let beside = file.with_extension("part");
            std::fs::write(&beside, text)
                .and_then(|()| std::fs::rename(&beside, file))
                .with_context(|| format!("cannot write {}", file.display()))?;
        }
        None => {
            let mut terminal = std::io::stdout().lock();
            let written = terminal.write_all(text.as_bytes()).and_then(|()| terminal.flush());
            written.context("cannot write")?;
        }
    }
    Ok(Outcome::Done)
}
