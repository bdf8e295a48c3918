//! `plimsoll compact`: does with days that are over what collecting does by itself.

use anyhow::{Result, bail};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use lake::{LAG, Lake, Removed};
use report::{Unit, Value};

use crate::cli::Compact;
use crate::command::collect::progress;
use crate::config::Config;
use crate::{Outcome, complain, words};

pub(crate) async fn run(config: &Config, arguments: &Compact) -> Result<Outcome> {
    let lake = Lake::open(&config.data_dir)?.with_zone(&config.zone);
    // A day is left alone for a while: the clock of who collects may be late.
    let now = config.now() - LAG;
    let mut failures = Vec::new();
    let mut errors = Vec::new();
    for cluster in chosen(&lake, &arguments.clusters).await? {
        let done = match arguments.dry_run {
            true => tell(&lake, &cluster, now).await,
            false => {
                let hold = hold(config, &cluster);
                compact(&lake, &cluster, now, hold, &mut failures).await
            }
        };
        match done {
            Ok(done) if done.is_empty() => complain(&format!("{cluster}: nothing to do")),
            Ok(done) => complain(&format!("{cluster}: {}", done.join(", "))),
            // That one cluster is being collected is no reason to leave another as it is.
            Err(error) => errors.push(error),
        }
    }
    for failure in &failures {
        complain(&format!("failed: {failure}"));
    }
    let Some(last) = errors.pop() else {
        return Ok(if failures.is_empty() { Outcome::Done } else { Outcome::Findings });
    };
    for error in errors {
        complain(&format!("error: {}", words(&error)));
    }
    Err(last)
}

/// What would be done.
async fn tell(lake: &Lake, cluster: &str, now: Timestamp) -> Result<Vec<String>> {
    let backlog = lake.backlog(cluster, now).await?;
    let mut parts = Vec::new();
    if !backlog.gpu_days.is_empty() {
        parts.push(format!("would make spans of {} of GPUs", days(backlog.gpu_days.len())));
    }
    if !backlog.job_days.is_empty() {
        parts.push(format!("would add up {} of jobs", days(backlog.job_days.len())));
    }
    if backlog.left_over.files > 0 {
        parts.push(format!("would remove {}", old_samples(backlog.left_over)));
    }
    Ok(parts)
}

/// Does it, and says what was done. What could not be read is added to the failures.
async fn compact(
    lake: &Lake,
    cluster: &str,
    now: Timestamp,
    hold: Option<SignedDuration>,
    failures: &mut Vec<String>,
) -> Result<Vec<String>> {
    let backlog = lake.backlog(cluster, now).await?;
    if backlog.is_empty() {
        return Ok(Vec::new());
    }
    let steps = backlog.gpu_days.len() + backlog.job_days.len();
    let progress = progress(steps as u64, cluster);
    progress.set_message("days");
    let done = lake.catch_up(cluster, now, hold, &mut || progress.inc(1)).await;
    progress.finish_and_clear();
    let done = done?;
    failures.extend(done.failures.iter().map(|failure| format!("{cluster}: {failure}")));
    let mut parts = Vec::new();
    if done.compacted.days > 0 {
        parts.push(format!(
            "made {} spans of {} samples, {} of GPUs",
            done.compacted.spans,
            done.compacted.samples,
            days(done.compacted.days)
        ));
    }
    if done.job_days > 0 {
        parts.push(format!("added up {} of jobs", days(done.job_days)));
    }
    if done.left_over.files > 0 {
        parts.push(format!("removed {}", old_samples(done.left_over)));
    }
    Ok(parts)
}

/// How long a look at a cluster holds by the configuration.
fn hold(config: &Config, cluster: &str) -> Option<SignedDuration> {
    let cluster = config.clusters.iter().find(|known| known.name == cluster)?;
    SignedDuration::try_from(cluster.cadence() * 2).ok()
}

/// The clusters of the lake, or those of them that are named.
async fn chosen(lake: &Lake, names: &[String]) -> Result<Vec<String>> {
    let known = lake.clusters().await?;
    if known.is_empty() {
        bail!("there is nothing in {} yet; `plimsoll collect` fills it", lake.place());
    }
    for name in names {
        if !known.contains(name) {
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            return Err(query::no_such_cluster(name, &known));
        }
    }
    Ok(known.into_iter().filter(|name| names.is_empty() || names.contains(name)).collect())
}

fn days(count: usize) -> String {
    format!("{count} {}", if count == 1 { "day" } else { "days" })
}

fn old_samples(removed: Removed) -> String {
    let bytes = Unit::Bytes.show(&Value::Number(removed.bytes as f64), &TimeZone::UTC);
    let files = if removed.files == 1 { "file" } else { "files" };
    format!("{} {files} of samples that nobody reads, {bytes}", removed.files)
}
