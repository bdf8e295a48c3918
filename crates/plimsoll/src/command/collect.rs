//! `plimsoll collect`: asks the schedulers, and keeps what they say.

use std::io::IsTerminal;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use jiff::{SignedDuration, Timestamp};
use lake::Lake;
use query::Question;
use report::Period;
use source::{Live, Machine};
use tokio::sync::watch;

use crate::cli::Collect;
use crate::collector::{Collector, Summary};
use crate::command::output;
use crate::config::{Cluster, Config};
use crate::{Outcome, complain};

pub(crate) async fn run(config: &Config, arguments: &Collect) -> Result<Outcome> {
    let clusters = chosen(config, &arguments.cluster)?;
    let lake = Lake::create(&config.data_dir)?.with_zone(&config.zone);
    if let Some(cadence) = arguments.every {
        return keep_collecting(&lake, clusters, arguments, cadence).await;
    }
    let mut summary = Summary::default();
    let mut errors = Vec::new();
    for cluster in &clusters {
        // That one cluster cannot be collected is no reason to let another's history go.
        match collect(&lake, cluster, arguments).await {
            Ok(collected) => summary.add(&collected),
            Err(error) => errors.push(error),
        }
    }
    if errors.len() < clusters.len() {
        complain(&summary.line());
        if !arguments.no_summary && std::io::stdout().is_terminal() {
            show(config, &lake, arguments).await?;
        }
    }
    let Some(last) = errors.pop() else {
        if summary.answers == 0 {
            bail!("no scheduler answered; `plimsoll test` says what to do");
        }
        return Ok(if summary.is_clean() { Outcome::Done } else { Outcome::Findings });
    };
    for error in errors {
        complain(&format!("error: {error:#}"));
    }
    Err(last)
}

/// Asks one cluster's scheduler: about the queue first, so that what left it since is accounted for.
async fn collect(lake: &Lake, cluster: &Cluster, arguments: &Collect) -> Result<Summary> {
    let machine: Arc<dyn Machine> = Arc::new(Live { prefix: cluster.command_prefix.clone() });
    let now = machine.now();
    let mut collector = Collector::open(lake, cluster, now).await?;
    let windows = collector.plan(now, arguments.days, arguments.refresh)?;
    let progress = progress(windows.len() as u64 + 1, &cluster.name);
    collector.moments(std::slice::from_ref(&machine), &progress).await?;
    collector.jobs(&machine, &windows, arguments.n_parallel.into(), &progress).await?;
    progress.finish_and_clear();
    collector.finish()
}

/// Collects again and again, each cluster for itself, until the process is told to stop; what is
/// under way then is finished.
async fn keep_collecting(
    lake: &Lake,
    clusters: Vec<Cluster>,
    arguments: &Collect,
    cadence: Duration,
) -> Result<Outcome> {
    let (stop, stopped) = watch::channel(false);
    let work: Vec<_> = clusters
        .into_iter()
        .map(|cluster| {
            let cluster = Cluster { cadence, ..cluster };
            let (lake, arguments) = (lake.clone(), arguments.clone());
            tokio::spawn(cycles(lake, cluster, arguments, stopped.clone()))
        })
        .collect();
    stop_signal().await?;
    complain("stopping when what is under way is written");
    // All the cycles may have ended by themselves; then nobody listens.
    let _ = stop.send(true);
    for work in work {
        work.await.context("a collector stopped")?;
    }
    Ok(Outcome::Done)
}

/// The cycles of one cluster, at whole multiples of its cadence: however long one takes, the next
/// is not late, and two never run at once.
async fn cycles(
    lake: Lake,
    cluster: Cluster,
    arguments: Collect,
    mut stopped: watch::Receiver<bool>,
) {
    let clock = Live::default();
    while !*stopped.borrow() {
        match collect(&lake, &cluster, &arguments).await {
            Ok(summary) => complain(&format!("{}: {}", cluster.name, summary.line())),
            Err(error) => complain(&format!("error: {error:#}")),
        }
        tokio::select! {
            () = tokio::time::sleep(until_next(clock.now(), cluster.cadence)) => {}
            _ = stopped.changed() => {}
        }
    }
}

/// How long it is until the next whole multiple of a cadence.
fn until_next(now: Timestamp, cadence: Duration) -> Duration {
    let cadence = cadence.as_millis().max(1);
    let since = u128::try_from(now.as_millisecond()).unwrap_or(0) % cadence;
    Duration::from_millis(u64::try_from(cadence - since).unwrap_or(u64::MAX))
}

/// Waits until the process is told to stop.
async fn stop_signal() -> Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate()).context("cannot wait for signals")?;
    tokio::select! {
        interrupt = tokio::signal::ctrl_c() => interrupt.context("cannot wait for signals"),
        _ = terminate.recv() => Ok(()),
    }
}

/// What the days that were asked about had in them, for who watches.
async fn show(config: &Config, lake: &Lake, arguments: &Collect) -> Result<()> {
    let now = Live::default().now();
    let days = SignedDuration::from_hours(24 * i64::from(arguments.days));
    let start = (now - days).to_zoned(config.zone.clone()).start_of_day()?.timestamp();
    let question = Question {
        clusters: arguments.cluster.clone(),
        ..Question::about(Period { start, end: now, zone: config.zone.clone() })
    };
    let mut reports = Vec::new();
    for name in ["cluster-summary", "daily"] {
        reports.push(query::run(lake, query::analysis(name)?, &question).await?);
    }
    output::write(&reports, &crate::cli::Output::default())?;
    Ok(())
}

/// The configured clusters, or those of them that are named.
pub(super) fn chosen(config: &Config, names: &[String]) -> Result<Vec<Cluster>> {
    let known: Vec<&str> = config.clusters.iter().map(|cluster| cluster.name.as_str()).collect();
    if known.is_empty() {
        match &config.path {
            Some(path) => bail!("{} names no cluster; add a [[cluster]] to it", path.display()),
            None => bail!("no plimsoll.toml was found; `plimsoll init` writes one"),
        }
    }
    for name in names {
        if !known.contains(&name.as_str()) {
            match query::nearest(name, known.iter().copied()) {
                Some(near) => bail!("no cluster {name:?} is configured; did you mean {near:?}?"),
                None => bail!("no cluster {name:?} is configured; there are {}", known.join(", ")),
            }
        }
    }
    let chosen = |cluster: &&Cluster| names.is_empty() || names.contains(&cluster.name);
    Ok(config.clusters.iter().filter(chosen).cloned().collect())
}

/// Shown while a person watches, and not otherwise.
pub(super) fn progress(steps: u64, cluster: &str) -> ProgressBar {
    let target = if std::io::stderr().is_terminal() {
        ProgressDrawTarget::stderr()
    } else {
        ProgressDrawTarget::hidden()
    };
    let style = ProgressStyle::with_template("{prefix:>12} {bar:32} {pos}/{len} {msg}")
        .expect("the template is one of ours");
    let bar = ProgressBar::with_draw_target(Some(steps), target).with_style(style);
    bar.set_prefix(cluster.to_owned());
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_keep_to_the_clock() {
        let cadence = Duration::from_secs(300);
        for (now, seconds) in [
            ("2026-01-01T00:00:00Z", 300.0),
            ("2026-01-01T00:00:07Z", 293.0),
            ("2026-01-01T00:04:59.5Z", 0.5),
        ] {
            assert_eq!(until_next(now.parse().unwrap(), cadence).as_secs_f64(), seconds, "{now}");
        }
    }
}
