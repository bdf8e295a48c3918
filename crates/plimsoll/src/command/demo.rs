//! `plimsoll demo`: a folder with a simulated site, whose history is collected as that of a real one.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use indicatif::{MultiProgress, ProgressBar};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use lake::{Lake, Place};
use query::{Judgement, Question, Selection};
use report::{Period, Unit, Value};
use source::simulated::{Scale, Simulated, Simulation};
use source::{Live, Machine};
use view::PictureLook;

use crate::cli::{self, Demo};
use crate::collector::{Collector, Summary, Wanted};
use crate::command::collect::{progress_of, progress_target};
use crate::command::serve::{self, Door};
use crate::command::{demo_config, demo_summary};
use crate::config::{Cluster, Config};
use crate::{Outcome, complain};

/// Makes a demo. Its history is in `place`, which is the demo's folder unless another is named.
pub(crate) async fn run(config: &Config, arguments: &Demo, place: &Place) -> Result<Outcome> {
    let now = Live::default().now();
    // Before the work begins: the port may be in use.
    let door = match arguments.serve {
        true => {
            Some(Door::open(&Config { access: None, ..config.clone() }, arguments.listen).await?)
        }
        false => None,
    };
    let folder = &arguments.folder;
    let earlier = earlier(folder).filter(|demo| door.is_some() && goes_on(demo, arguments, now));
    let demo = match earlier {
        Some(demo) => {
            complain(&format!("the demo in {} goes on", folder.display()));
            demo
        }
        None => make(arguments, place, &simulation(arguments, now)?).await?,
    };
    let demo = Config { memory: config.memory.clone(), ..demo };
    if let Some(door) = door {
        return serve::at_pace(&demo, door, arguments.collect).await;
    }
    draw(&demo, folder).await?;
    demo_summary::print(&demo, folder).await?;
    Ok(Outcome::Done)
}

/// Which site the command line wants. Without `--until` its history ends now, and it goes on for some
/// days, so that there is something to collect.
fn simulation(arguments: &Demo, now: Timestamp) -> Result<Simulation> {
    let (history_end, end) = match arguments.until {
        Some(day) => {
            let end = day.to_zoned(TimeZone::UTC)?.timestamp();
            (end, end)
        }
        None => {
            let now = Timestamp::from_second(now.as_second())?;
            (now, now + FUTURE)
        }
    };
    let start = day_of(history_end)? - SignedDuration::from_hours(24 * i64::from(arguments.days));
    Ok(Simulation::new(Scale::demo_between(arguments.seed, start, end), history_end))
}

/// How long the site goes on after its demo was made.
const FUTURE: SignedDuration = SignedDuration::from_hours(7 * 24);

/// The first moment of a day.
fn day_of(moment: Timestamp) -> Result<Timestamp> {
    Ok(moment.to_zoned(TimeZone::UTC).start_of_day()?.timestamp())
}

/// The finished demo in a folder, if there is one.
fn earlier(folder: &Path) -> Option<Config> {
    let config = cli::Site::of(folder.join(demo_config::FILE)).load().ok()?;
    config.simulation().is_some().then_some(config)
}

/// Whether a demo is the one that is asked for, and something still happens in it.
fn goes_on(demo: &Config, arguments: &Demo, now: Timestamp) -> bool {
    let Some(made) = demo.simulation() else { return false };
    let asked = simulation(arguments, made.history_end());
    asked.is_ok_and(|asked| asked == *made) && now < made.scale().end
}

/// Writes the configuration of a simulated site, and collects its history.
async fn make(arguments: &Demo, place: &Place, simulation: &Simulation) -> Result<Config> {
    let Demo { folder, days, .. } = arguments;
    make_room(folder)?;
    let lake = Lake::create(place)?;
    if !lake.clusters().await?.is_empty() {
        bail!("{place} has a history already, which a demo does not replace; name another place");
    }
    complain(&format!(
        "simulating {days} days of two clusters with seed {} …",
        simulation.scale().seed
    ));
    let text = demo_config::site(lake.place(), folder, simulation);
    let unfinished = folder.join(UNFINISHED);
    let write = |file: &Path, text: &str| {
        fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
    };
    write(&unfinished, &text)?;
    let mut config = cli::Site::of(unfinished.clone()).load()?;
    // The file describes this simulation, of which the site exists already.
    for cluster in &mut config.clusters {
        cluster.simulation = Some(simulation.clone());
    }
    let lake = lake.with_zone(&config.zone);
    let collected = fill(&lake, &config, *days).await?;
    let count = |number: u64| Unit::Count.show(&Value::Integer(number as i64), &config.zone);
    complain(&format!(
        "collected {} records into {place}, {} unreadable",
        count(collected.records),
        count(collected.rejects)
    ));
    let allocations = demo_config::allocations(&lake, &config).await?;
    write(&unfinished, &format!("{text}{allocations}"))?;
    let file = folder.join(demo_config::FILE);
    fs::rename(&unfinished, &file)
        .with_context(|| format!("cannot rename {} into place", unfinished.display()))?;
    Ok(Config { clusters: config.clusters, ..cli::Site::of(file).load()? })
}

/// The configuration of a demo that is being made.
const UNFINISHED: &str = "plimsoll.toml.part";

/// By this file versions before 0.2 mark a demo.
const FORMER_MARK: &str = "demo.json";

/// Empties the folder of an earlier demo, finished or not. A folder with anything else is left alone.
fn make_room(folder: &Path) -> Result<()> {
    let unfinished = folder.join(UNFINISHED);
    let mark = || {
        fs::write(&unfinished, "").with_context(|| format!("cannot write {}", unfinished.display()))
    };
    if is_demo(folder) {
        // First, so that a demo that is killed from here on is still known as one.
        mark()?;
        for former in [demo_config::FILE, FORMER_MARK] {
            remove(&folder.join(former), |path| fs::remove_file(path))?;
        }
        for part in ["raw", "processed", "tracker", "lock", "live"] {
            remove(&folder.join(part), |path| fs::remove_dir_all(path))?;
        }
        return Ok(());
    }
    if folder.exists() {
        let mut entries =
            fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
        if entries.next().is_some() {
            bail!(
                "{} holds other files than a demo, and was left as it is; name another folder: \
                 plimsoll demo FOLDER",
                folder.display()
            );
        }
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    mark()
}

fn is_demo(folder: &Path) -> bool {
    let text = fs::read_to_string(folder.join(demo_config::FILE)).unwrap_or_default();
    let table: toml::Table = text.parse().unwrap_or_default();
    table.contains_key("simulation")
        || folder.join(UNFINISHED).is_file()
        || folder.join(FORMER_MARK).is_file()
}

fn remove(path: &Path, remove: impl Fn(&Path) -> std::io::Result<()>) -> Result<()> {
    match path.exists() {
        true => remove(path).with_context(|| format!("cannot remove {}", path.display())),
        false => Ok(()),
    }
}

/// Collects from the simulated clusters, both at once.
async fn fill(lake: &Lake, config: &Config, days: u16) -> Result<Summary> {
    let bars = MultiProgress::with_draw_target(progress_target());
    let work = config.clusters.iter().cloned().map(|cluster| {
        let (lake, policy) = (lake.clone(), config.judgement.clone());
        let progress = progress_of(&bars, u64::from(days), &cluster.name);
        tokio::spawn(async move { fill_cluster(&lake, &cluster, &policy, days, &progress).await })
    });
    let mut summary = Summary::default();
    for work in work.collect::<Vec<_>>() {
        summary.add(&work.await.context("a collector stopped")??);
    }
    if let Some(failure) = summary.failures.first() {
        bail!("the simulated site failed: {failure}");
    }
    Ok(summary)
}

/// Samples a cluster at each multiple of its cadence, then collects all of its jobs.
async fn fill_cluster(
    lake: &Lake,
    cluster: &Cluster,
    policy: &Judgement,
    days: u16,
    progress: &ProgressBar,
) -> Result<Summary> {
    let simulation = cluster.simulation.as_ref().expect("the demo's clusters are simulated");
    let end = simulation.history_end();
    let at = |now: Timestamp| -> Arc<dyn Machine> {
        let (site, cluster) = (simulation.site().clone(), cluster.name.clone());
        Arc::new(Simulated { site, cluster, now })
    };
    let mut collector = Collector::open(lake, cluster, end).await?;
    collector.store_policy(policy).await?;
    let cadence = SignedDuration::try_from(cluster.cadence())?;
    let mut machines = Vec::new();
    let mut time = simulation.scale().start;
    while time < end {
        machines.push(at(time));
        time += cadence;
    }
    collector.moments(&machines, progress).await?;
    // One at a time: a simulated day is made by this very processor.
    let wanted = Wanted { days, refresh: false, parallel: 1 };
    collector.jobs(&at(end), wanted, progress).await?;
    progress.finish_and_clear();
    collector.finish().await
}

/// Draws the last day of the GPUs.
async fn draw(config: &Config, folder: &Path) -> Result<()> {
    let lake = Lake::open(&config.data_dir)?;
    let end = config.simulation().map_or_else(|| config.now(), Simulation::history_end);
    let start = end - SignedDuration::from_hours(24);
    let question = Question {
        judgement: config.judgement.clone(),
        memory: config.memory.clone(),
        ..Question::about(Period { start, end, zone: config.zone.clone() })
    };
    let wish = query::Heatmap { most_columns: 300, ..query::Heatmap::default() };
    let picture = query::heatmap(&lake, &question, &Selection::default(), &wish).await?;
    let png = view::picture_format_by_name("png").expect("PNG is one of the formats");
    let file = folder.join("heatmap.png");
    fs::write(&file, png.render(&picture, &PictureLook::default())?)
        .with_context(|| format!("cannot write {}", file.display()))?;
    complain(&format!("drew the GPUs of the last 24 hours: {}", file.display()));
    Ok(())
}
