//! `plimsoll demo`: a simulated site, through everything that a real one passes through.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use lake::{Lake, Place};
use query::{Question, Selection};
use report::Period;
use source::simulated::{Scale, Simulated, Site};
use source::slurm::Backfill;
use source::{Live, Machine};
use view::PictureLook;

use crate::cli::Demo;
use crate::collector::{Collector, Summary, Wanted};
use crate::command::collect::progress;
use crate::command::output::terminal;
use crate::command::{demo_config, demo_live};
use crate::config::{Cluster, Config, Kind};
use crate::{Outcome, complain};

/// Makes a demo, whose history is in a place of its own or in the demo's folder.
pub(crate) async fn run(config: &Config, arguments: &Demo, place: &Place) -> Result<Outcome> {
    let now = Live::default().now();
    if arguments.serve {
        return demo_live::run(config, arguments, place, now).await;
    }
    let end = match arguments.until {
        Some(day) => day.to_zoned(TimeZone::UTC)?.timestamp(),
        None => day_of(now)?,
    };
    let Demo { folder, seed, days, .. } = arguments;
    let plan = Plan { seed: *seed, days: *days, until: end, simulated_until: end };
    let start = plan.scale()?.start;
    let (lake, _) = make(config, folder, place, &plan).await?;
    show(&lake, config, start, end).await?;
    draw(&lake, config, folder, end).await?;
    next_steps(folder, place, start, end)?;
    Ok(Outcome::Done)
}

/// Which site is simulated, and how much of its history was collected at once.
pub(super) struct Plan {
    pub(super) seed: u64,
    /// Whole days before the one in which the history ends.
    pub(super) days: u16,
    /// When the history ends.
    pub(super) until: Timestamp,
    /// When nothing more happens at the site.
    pub(super) simulated_until: Timestamp,
}

impl Plan {
    /// The plan of the demo in a folder, if there is one and it was finished.
    pub(super) fn of(folder: &Path) -> Option<Plan> {
        let mark = fs::read(folder.join(MARK)).ok()?;
        let mark: serde_json::Value = serde_json::from_slice(&mark).ok()?;
        let moment = |name: &str| mark[name].as_str()?.parse().ok();
        Some(Plan {
            seed: mark["seed"].as_u64()?,
            days: mark["days"].as_u64()?.try_into().ok()?,
            until: moment("until")?,
            simulated_until: moment("simulated_until")?,
        })
    }

    fn write(&self, folder: &Path) -> Result<()> {
        let Plan { seed, days, until, simulated_until } = self;
        write_mark(
            folder,
            &serde_json::json!({
                "seed": seed,
                "days": days,
                "until": until.to_string(),
                "simulated_until": simulated_until.to_string(),
            }),
        )
    }

    pub(super) fn scale(&self) -> Result<Scale> {
        let whole = Scale::demo(self.seed, day_of(self.until)?, i64::from(self.days));
        Ok(Scale { end: self.simulated_until, ..whole })
    }
}

/// Simulates a site, and collects its history.
pub(super) async fn make(
    config: &Config,
    folder: &Path,
    place: &Place,
    plan: &Plan,
) -> Result<(Lake, Arc<Site>)> {
    make_room(folder)?;
    let lake = Lake::create(place)?.with_zone(&config.zone);
    if !lake.clusters().await?.is_empty() {
        bail!("{place} has a history already, which a demo does not replace; name another place");
    }
    complain(&format!(
        "simulating {} days of two clusters until {}, with seed {} …",
        plan.days,
        plan.until.strftime("%Y-%m-%d"),
        plan.seed
    ));
    let scale = plan.scale()?;
    let (start, end) = (scale.start, plan.until);
    let site = Arc::new(Site::new(&scale));
    let collected = fill(&lake, &site, start, end, plan.days).await?;
    complain(&format!(
        "read {} records into {place}; {} pieces set aside",
        collected.records, collected.rejects
    ));
    let period = Period { start, end, zone: TimeZone::UTC };
    demo_config::write(&lake, folder, &period, &config.memory).await?;
    plan.write(folder)?;
    Ok((lake, site))
}

/// The file by which a folder is known as a demo's, and which one.
const MARK: &str = "demo.json";

fn write_mark(folder: &Path, mark: &serde_json::Value) -> Result<()> {
    let file = folder.join(MARK);
    fs::write(&file, format!("{mark}\n"))
        .with_context(|| format!("cannot write {}", file.display()))
}

/// Empties the folder of an earlier demo; one that holds anything else is left alone.
fn make_room(folder: &Path) -> Result<()> {
    if folder.join(MARK).is_file() {
        for part in ["raw", "processed", "tracker", "lock", "live"] {
            let part = folder.join(part);
            if part.exists() {
                fs::remove_dir_all(&part)
                    .with_context(|| format!("cannot remove {}", part.display()))?;
            }
        }
    } else if folder.exists() {
        let mut entries =
            fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
        if entries.next().is_some() {
            bail!(
                "{} is there and holds no demo; name another folder: plimsoll demo FOLDER",
                folder.display()
            );
        }
    }
    fs::create_dir_all(folder)
        .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    // Already a demo's, and not yet one that is finished.
    write_mark(folder, &serde_json::json!({}))
}

/// Collects from the simulated clusters, both at once.
async fn fill(
    lake: &Lake,
    site: &Arc<Site>,
    start: Timestamp,
    end: Timestamp,
    days: u16,
) -> Result<Summary> {
    let work = clusters().map(|cluster| {
        let (lake, site) = (lake.clone(), site.clone());
        tokio::spawn(async move {
            let at = |now: Timestamp| Simulated {
                site: site.clone(),
                cluster: cluster.name.clone(),
                now,
            };
            let mut collector = Collector::open(&lake, &cluster, end).await?;
            let progress = progress(u64::from(days), &cluster.name);
            let mut time = start;
            let mut machines = Vec::new();
            while time < end {
                machines.push(Arc::new(at(time)) as Arc<dyn Machine>);
                time += SignedDuration::try_from(cluster.cadence())?;
            }
            collector.moments(&machines, &progress).await?;
            let machine: Arc<dyn Machine> = Arc::new(at(end));
            // One at a time: a simulated day is made by this very processor.
            let wanted = Wanted { days, refresh: false, parallel: 1 };
            collector.jobs(&machine, wanted, &progress).await?;
            progress.finish_and_clear();
            collector.finish().await
        })
    });
    let mut summary = Summary::default();
    for work in work {
        summary.add(&work.await.context("a collector stopped")??);
    }
    if let Some(failure) = summary.failures.first() {
        bail!("the simulated site did not answer: {failure}");
    }
    Ok(summary)
}

/// The simulated clusters, as a configuration would name them.
pub(super) fn clusters() -> [Cluster; 2] {
    let cluster = |name: &str, kind: Kind, partitions: Vec<String>| Cluster {
        name: name.to_owned(),
        kind,
        command_prefix: Vec::new(),
        time_limit: None,
        own_cadence: Some(CADENCE),
        slurm_cluster: None,
        backfill: Backfill { partitions, qos: Vec::new() },
        job_history: None,
    };
    [
        cluster(Site::slurm_cluster(), Kind::Slurm, vec!["preempt".to_owned()]),
        cluster(Site::condor_pool(), Kind::Htcondor, Vec::new()),
    ]
}

/// How often the demo looks at the state of its clusters: often enough for a demo, and not so often
/// that one has to wait for it.
const CADENCE: Duration = Duration::from_secs(10 * 60);

/// Prints the first tables.
async fn show(lake: &Lake, config: &Config, start: Timestamp, end: Timestamp) -> Result<()> {
    let question = Question {
        top: Some(10),
        memory: config.memory.clone(),
        ..Question::about(Period { start, end, zone: config.zone.clone() })
    };
    let mut reports = Vec::new();
    for name in ["usage-by-user", "daily", "states"] {
        let top = if name == "daily" { None } else { question.top };
        let question = Question { top, ..question.clone() };
        reports.push(query::run(lake, query::analysis(name)?, &question).await?);
    }
    let text = view::by_name("text").expect("text is one of the formats");
    let mut stdout = io::stdout().lock();
    stdout.write_all(&text.render(&reports, &terminal())).context("cannot write")?;
    Ok(())
}

/// Draws the last day of the GPUs.
async fn draw(lake: &Lake, config: &Config, folder: &Path, end: Timestamp) -> Result<()> {
    let start = end - SignedDuration::from_hours(24);
    let question = Question {
        memory: config.memory.clone(),
        ..Question::about(Period { start, end, zone: config.zone.clone() })
    };
    let wish = query::Heatmap { most_columns: 300, ..query::Heatmap::default() };
    let picture = query::heatmap(lake, &question, &Selection::default(), &wish).await?;
    let png = view::picture_format_by_name("png").expect("PNG is one of the formats");
    let file = folder.join("heatmap.png");
    fs::write(&file, png.render(&picture, &PictureLook::default())?)
        .with_context(|| format!("cannot write {}", file.display()))?;
    complain(&format!("drew what the GPUs did on the last day: {}", file.display()));
    Ok(())
}

fn next_steps(folder: &Path, place: &Place, start: Timestamp, end: Timestamp) -> Result<()> {
    let folder = folder.display();
    let period = format!("--from {} --to {}", start.strftime("%Y-%m-%d"), end.strftime("%Y-%m-%d"));
    let text = format!(
        "\n\
         Next, for example (built here, plimsoll is `cargo run --release --`):\n  \
         plimsoll --data-dir {place} status\n  \
         plimsoll --data-dir {place} report usage-by-user {period} --cluster {slurm} -o usage.html\n  \
         plimsoll --config {folder}/{file} allocations --at {end}\n  \
         plimsoll --data-dir {place} heatmap {period} --color user -o users.html\n  \
         plimsoll --data-dir {place} sql \"SELECT cluster, primary_state, sum(seconds_between(start_time, end_time)) / 3600 AS gpu_hours FROM gpu_span GROUP BY cluster, primary_state\"\n  \
         plimsoll --data-dir {place} serve\n  \
         plimsoll demo --serve {folder}-live     the same, going on as time passes\n  \
         plimsoll init        for your own site\n",
        slurm = Site::slurm_cluster(),
        file = demo_config::FILE,
        end = end.strftime("%Y-%m-%d"),
    );
    io::stdout().write_all(text.as_bytes()).context("cannot write")
}

/// The first moment of a day.
fn day_of(moment: Timestamp) -> Result<Timestamp> {
    Ok(moment.to_zoned(TimeZone::UTC).start_of_day()?.timestamp())
}
