//! `plimsoll export`: what others read, as files.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use jiff::Timestamp;
use lake::Lake;
use query::Question;
use query::metric::{COMPATIBLE_PAGES, LastSeen, compatible_page, granted};
use report::{Family, Period};
use source::{Live, Machine};
use view::PROMETHEUS;

use crate::cli::{ExportJobs, ExportMetrics};
use crate::config::{Config, SinkTarget};
use crate::sink::{self, Selection, Which};
use crate::{Outcome, complain};

/// What is left of what was granted, if anything was.
async fn allocations(config: &Config, lake: &Lake, now: Timestamp) -> Result<Vec<Family>> {
    if config.allocations.is_empty() {
        return Ok(Vec::new());
    }
    let period =
        Period::last_days(1, &config.zone, now).context("yesterday is not in the calendar")?;
    let question = Question {
        groups: config.groups.clone(),
        allocations: config.allocations.clone(),
        judgement: config.judgement.clone(),
        memory: config.memory.clone(),
        ..Question::about(period)
    };
    granted(lake, &question).await
}

/// Writes what was last seen for node_exporter's textfile collector, or for a look.
pub(crate) async fn metrics(config: &Config, arguments: &ExportMetrics) -> Result<Outcome> {
    let lake = Lake::open(&config.data_dir)?;
    let mut seen = LastSeen::load(&lake).await?;
    let families = match &arguments.names {
        None => {
            let Config { judgement, zone, memory, .. } = config;
            seen.sum_up_lately(&lake, judgement, zone, None, memory).await;
            let now = config.now();
            let mut families = seen.health(now);
            let policy = query::current_policy(&lake, &config.judgement).await?;
            families.extend(seen.state(&config.metrics, &policy));
            families.extend(allocations(config, &lake, now).await?);
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
            let beside = beside(file);
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

/// Writes attempts of jobs as lines of JSON, or pushes them to one of the configured sinks.
pub(crate) async fn jobs(config: &Config, arguments: &ExportJobs) -> Result<Outcome> {
    let lake = Lake::open(&config.data_dir)?;
    let machine: Arc<dyn Machine> = Arc::new(Live::default());
    let question = arguments.about.question(&lake, config, config.now()).await?;
    if let Some(newest) = question.period_end.as_ref().and_then(|end| end.newest) {
        complain(&newest.line(&question.period));
    }
    let selection = Selection { clusters: question.clusters, which: Which::In(question.period) };
    let Some(name) = &arguments.push else {
        return write_lines(&lake, &machine, &selection, arguments.output.as_deref()).await;
    };
    let Some(sink) = config.sinks.iter().find(|sink| sink.name == *name) else {
        let known: Vec<&str> = config.sinks.iter().map(|sink| sink.name.as_str()).collect();
        match query::nearest(name, known.iter().copied()) {
            Some(near) => bail!("no [[push]] {name:?} is configured; did you mean {near:?}?"),
            None => bail!("no [[push]] {name:?} is configured; there are {}", known.join(", ")),
        }
    };
    let done = sink::push(&lake, &machine, &sink.target, &selection).await?;
    complain(&format!("pushed {} documents to {name}", done.pushed.taken));
    if let Some(first) = done.pushed.first_refusal {
        complain(&format!("failed: {} documents were refused, {first}", done.pushed.refused));
        return Ok(Outcome::Findings);
    }
    Ok(Outcome::Done)
}

async fn write_lines(
    lake: &Lake,
    machine: &Arc<dyn Machine>,
    selection: &Selection,
    output: Option<&Path>,
) -> Result<Outcome> {
    let Some(file) = output else {
        sink::push(lake, machine, &SinkTarget::Output, selection).await?;
        return Ok(Outcome::Done);
    };
    let beside = beside(file);
    // What an earlier run left that was stopped.
    std::fs::write(&beside, "").with_context(|| format!("cannot write {}", beside.display()))?;
    sink::push(lake, machine, &SinkTarget::File(beside.clone()), selection).await?;
    std::fs::rename(&beside, file).with_context(|| format!("cannot write {}", file.display()))?;
    Ok(Outcome::Done)
}

/// Where a file is written before it takes its place: who reads the folder meanwhile finds it whole.
fn beside(file: &Path) -> std::path::PathBuf {
    file.with_extension("part")
}
