//! `plimsoll reprocess`: derives the tables again from what the schedulers printed.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use futures::stream;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use lake::{Asked, Change, Frame, Lake, LakeFile, Trackers, Writer};
use query::Judgement;
use record::{GpuSample, GpuSpan, Job, NodeSpan, QueueSpan, Record, Reject, SitePolicy};

use crate::cli::Reprocess;
use crate::collector::{Answer, Collector, is_about_jobs_of_scontrol};
use crate::command::collect::{chosen, progress};
use crate::command::import::slurm_usage::{import_archived, is_archived_import};
use crate::config::{Cluster, Config, Kind};
use crate::{Outcome, complain};

pub(crate) async fn run(config: &Config, arguments: &Reprocess) -> Result<Outcome> {
    if let (Some(from), Some(to)) = (arguments.from, arguments.to)
        && to <= from
    {
        bail!("the period ends before it begins: from {from} to {to}; --to is not included");
    }
    let lake = Lake::open(&config.data_dir)?.with_zone(&config.zone);
    let mut answers = 0;
    let mut change = Change::default();
    for cluster in chosen(config, &arguments.cluster)? {
        // Nobody may collect meanwhile: what is put in place would miss it.
        let mut writer = lake.writer(&cluster.name).await?;
        let cluster = as_it_was_collected(cluster, &writer);
        let aside = config.state_dir()?.join("reprocess");
        forget(&aside)?;
        let derived = Lake::create(&aside)?.with_zone(&config.zone);
        // GPUs that left the pool before the first archived sample keep their models.
        let mut seeded = derived.writer(&cluster.name).await?;
        seeded.add_gpu_models(&writer.tracker().gpu_models);
        seeded.finish().await?;
        answers += derive(&lake, &derived, &cluster, arguments.from).await?;
        change += put_in_place(&derived, &mut writer, &cluster, arguments).await?;
        writer.finish().await?;
        forget(&aside)?;
    }
    complain(&format!(
        "read {answers} answers again: {} rows new, {} changed",
        change.added, change.changed
    ));
    Ok(Outcome::Done)
}

fn forget(folder: &Path) -> Result<()> {
    if folder.exists() {
        std::fs::remove_dir_all(folder)
            .with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    Ok(())
}

/// Derives the tables into another lake, from a day on, and says from how many answers.
pub(crate) async fn derive(
    lake: &Lake,
    derived: &Lake,
    cluster: &Cluster,
    from: Option<Date>,
) -> Result<usize> {
    let archived = archived(lake, cluster, from).await?;
    let answers = archived.len();
    let (imported, collected): (Vec<_>, Vec<_>) =
        archived.into_iter().partition(|(_, frame)| is_archived_import(frame));
    replay(lake, derived, cluster, collected).await?;
    if !imported.is_empty() {
        let mut writer = derived.writer(&cluster.name).await?;
        import_archived(lake, &mut writer, &cluster.name, imported).await?;
        writer.finish().await?;
    }
    Ok(answers)
}

/// A cluster with the cadence at which it was last collected from, by which looks hold; a command
/// may have named another than the configuration does.
fn as_it_was_collected(cluster: Cluster, writer: &Writer) -> Cluster {
    let hold = writer.tracker().hold_seconds.map(|seconds| Duration::from_secs(seconds.into()));
    Cluster { own_cadence: hold.map(|hold| hold / 2).or(cluster.own_cadence), ..cluster }
}

/// The programs whose answers are read, in the order in which a collection asks them.
const PROGRAMS: [&str; 7] = [
    "scontrol",
    "squeue",
    "condor_status",
    "condor_q",
    "sacct",
    "condor_history",
    source::elasticsearch::PROGRAM,
];

/// The answers that may tell of the days that are asked for: those since the first of them, for a
/// job is told of from its submission on, and the looks before it that hold on into it.
async fn archived(
    lake: &Lake,
    cluster: &Cluster,
    from: Option<Date>,
) -> Result<Vec<(Asked, Frame)>> {
    let mut archived = lake.archived(&cluster.name).await?;
    let hold = cluster.cadence() * 2;
    archived.retain(|(asked, frame)| {
        let is_known = asked.command.first().is_some_and(|name| PROGRAMS.contains(&name.as_str()));
        let until = match asked.window {
            Some((_, end)) => end,
            None => asked.time.checked_add(hold).unwrap_or(Timestamp::MAX),
        };
        // A job of an import may have been submitted on another day than that of its file.
        is_archived_import(frame) || (is_known && from.is_none_or(|from| date(until) >= from))
    });
    Ok(archived)
}

/// Collects from the archive into another lake, one collection after the other, as it was.
async fn replay(
    lake: &Lake,
    derived: &Lake,
    cluster: &Cluster,
    archived: Vec<(Asked, Frame)>,
) -> Result<()> {
    let progress = progress(archived.len() as u64, &cluster.name);
    let mut runs: BTreeMap<Timestamp, Vec<(Asked, Frame)>> = BTreeMap::new();
    for (asked, frame) in archived {
        runs.entry(asked.run).or_default().push((asked, frame));
    }
    let policies = policies(lake, &cluster.name).await?;
    for (run, answers) in runs {
        progress.set_message(format!("the collection of {}", run.strftime("%Y-%m-%d %H:%M:%S")));
        let mut collector = Collector::replaying(derived, cluster, run, &policies).await?;
        let (mut windows, looks): (Vec<_>, Vec<_>) =
            answers.into_iter().partition(|(asked, _)| asked.window.is_some());
        for program in PROGRAMS {
            let looks = looks.iter().filter(|(asked, _)| asked.command[0] == program);
            let looks = by_moment(looks.collect());
            for day in looks.chunk_by(|(one, ..), (other, ..)| date(*one) == date(*other)) {
                let mut read = Vec::with_capacity(day.len());
                for (_, asked, frame) in day {
                    read.push(Answer::archived(asked.clone(), lake.frame(frame).await?));
                    progress.inc(1);
                }
                collector.take_looks(&read).await?;
            }
        }
        if !windows.is_empty() {
            match cluster.kind {
                // The last window first, as when they were asked about.
                Kind::Slurm => {
                    windows.sort_by_key(|(asked, _)| std::cmp::Reverse((asked.window, asked.time)));
                }
                Kind::Htcondor => windows.sort_by_key(|(asked, _)| (asked.time, asked.window)),
            }
            let answers = stream::iter(windows);
            let answers = futures::StreamExt::then(answers, async |(asked, frame)| {
                Ok(Answer::archived(asked, lake.frame(&frame).await?))
            });
            collector.take_windows(answers, &progress).await?;
        }
        collector.finish().await?;
    }
    progress.finish_and_clear();
    Ok(())
}

/// The site policies that are stored for a cluster: what counted as backfill when an answer came does not
/// follow from the configuration of today.
async fn policies(lake: &Lake, cluster: &str) -> Result<Vec<(Timestamp, Judgement)>> {
    let mut rows: Vec<SitePolicy> = Vec::new();
    for file in lake.files(&SitePolicy::TABLE, &Trackers::new()).await? {
        if file.cluster == cluster {
            rows.extend(lake.read(cluster, &file.meta.location).await?);
        }
    }
    Ok(query::stored_policies(cluster, rows))
}

/// Looks in the order of the moments to which they belong. A look at jobs belongs to the one at nodes
/// before it, though midnight may lie between, and comes after it, though no time does.
fn by_moment(looks: Vec<&(Asked, Frame)>) -> Vec<(Timestamp, Asked, Frame)> {
    let of_nodes: Vec<Timestamp> = looks
        .iter()
        .filter(|(asked, _)| !is_about_jobs_of_scontrol(asked))
        .map(|(asked, _)| asked.time)
        .collect();
    let mut looks: Vec<(Timestamp, Asked, Frame)> = looks
        .into_iter()
        .map(|(asked, frame)| {
            let before = of_nodes.partition_point(|time| *time <= asked.time);
            let moment = match before.checked_sub(1) {
                Some(place) if is_about_jobs_of_scontrol(asked) => of_nodes[place],
                _ => asked.time,
            };
            (moment, asked.clone(), frame.clone())
        })
        .collect();
    looks.sort_by_key(|(moment, asked, _)| (*moment, is_about_jobs_of_scontrol(asked)));
    looks
}

/// Puts what was derived in the place of what is there.
async fn put_in_place(
    derived: &Lake,
    writer: &mut Writer,
    cluster: &Cluster,
    arguments: &Reprocess,
) -> Result<Change> {
    let mut change = restore::<Job>(derived, writer, cluster, arguments, true).await?;
    change += restore::<NodeSpan>(derived, writer, cluster, arguments, false).await?;
    change += restore::<QueueSpan>(derived, writer, cluster, arguments, false).await?;
    change += restore::<GpuSpan>(derived, writer, cluster, arguments, false).await?;
    change += restore::<GpuSample>(derived, writer, cluster, arguments, false).await?;
    change += restore::<Reject>(derived, writer, cluster, arguments, true).await?;
    Ok(change)
}

async fn restore<R: Record>(
    derived: &Lake,
    writer: &mut Writer,
    cluster: &Cluster,
    arguments: &Reprocess,
    keep_others: bool,
) -> Result<Change> {
    let is_asked_for = |file: &LakeFile| {
        arguments.from.is_none_or(|from| file.date >= from)
            && arguments.to.is_none_or(|to| file.date < to)
    };
    let mut change = Change::default();
    for file in derived.files(&R::TABLE, &Trackers::new()).await? {
        if is_asked_for(&file) {
            let rows: Vec<R> = derived.read(&cluster.name, &file.meta.location).await?;
            change += writer.restore(file.date, &rows, keep_others).await?;
        }
    }
    Ok(change)
}

fn date(time: Timestamp) -> Date {
    time.to_zoned(TimeZone::UTC).date()
}
