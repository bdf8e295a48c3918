//! `plimsoll collect`: asks the schedulers, and keeps what they say.

use std::io::IsTerminal;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use futures::FutureExt;
use futures::future::BoxFuture;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use jiff::{SignedDuration, Timestamp};
use lake::Lake;
use query::{Judgement, Question};
use report::Period;
use source::Machine;
use tokio::sync::watch;

use crate::cli::Collect;
use crate::collector::{Collector, Summary, Wanted};
use crate::command::{live, output};
use crate::config::{Cluster, Config, Sink};
use crate::{Outcome, complain, words};

pub(crate) async fn run(config: &Config, arguments: &Collect) -> Result<Outcome> {
    let clusters = live::clusters(config, &arguments.cluster)?;
    let lake = Lake::create(&config.data_dir)?.with_zone(&config.zone);
    let order = Order::new(config, lake, wanted(arguments));
    if let Some(cadence) = arguments.every {
        return keep_collecting(order, clusters, cadence).await;
    }
    let mut summary = Summary::default();
    let mut errors = Vec::new();
    for cluster in &clusters {
        // That one cluster cannot be collected is no reason to let another's history go.
        match collect(&order, cluster, &live::machine(cluster)).await {
            Ok(collected) => summary.add(&collected),
            Err(error) => errors.push(error),
        }
    }
    if errors.len() < clusters.len() {
        complain(&summary.line());
        let is_watched = std::io::stdout().is_terminal() && !arguments.no_summary;
        if arguments.summary || is_watched {
            show(config, &order.lake, arguments).await?;
        }
    }
    let Some(last) = errors.pop() else {
        if summary.answers == 0 {
            bail!("no scheduler answered; `plimsoll test` says what to do");
        }
        return Ok(if summary.is_clean() { Outcome::Done } else { Outcome::Findings });
    };
    for error in errors {
        complain(&format!("error: {}", words(&error)));
    }
    Err(last)
}

fn wanted(arguments: &Collect) -> Wanted {
    Wanted {
        days: arguments.days,
        refresh: arguments.refresh,
        parallel: arguments.n_parallel.into(),
    }
}

/// What is done with every cluster.
#[derive(Clone)]
pub(super) struct Order {
    /// Where it is kept.
    pub(super) lake: Lake,
    pub(super) wanted: Wanted,
    /// Who is told of it.
    pub(super) sinks: Arc<[Sink]>,
    /// What the history is judged by from now on.
    policy: Arc<Judgement>,
}

impl Order {
    pub(super) fn new(config: &Config, lake: Lake, wanted: Wanted) -> Order {
        let policy = config.judgement.clone();
        Order { lake, wanted, sinks: config.sinks.clone().into(), policy }
    }
}

/// Asks one cluster's scheduler: about the queue first, so that what left it since is accounted for.
async fn collect(
    Order { lake, wanted, sinks, policy }: &Order,
    cluster: &Cluster,
    machine: &Arc<dyn Machine>,
) -> Result<Summary> {
    let mut collector = Collector::open(lake, cluster, machine.now()).await?;
    collector.store_policy(policy).await?;
    let progress = progress(1, &cluster.name);
    collector.moments(std::slice::from_ref(machine), &progress).await?;
    collector.jobs(machine, *wanted, &progress).await?;
    progress.finish_and_clear();
    collector.push(lake, machine, sinks).await;
    collector.finish().await
}

/// Collects again and again, each cluster for itself, until the process is told to stop; what is
/// under way then is finished.
async fn keep_collecting(
    order: Order,
    clusters: Vec<Cluster>,
    cadence: Duration,
) -> Result<Outcome> {
    let collecting = Collecting::start(&order, clusters, cadence);
    stop_signal().await?;
    complain("stopping when what is under way is written");
    collecting.stop().await?;
    Ok(Outcome::Done)
}

/// The cycles of some clusters, each for itself.
pub(super) struct Collecting {
    stop: watch::Sender<bool>,
    work: Vec<tokio::task::JoinHandle<()>>,
}

impl Collecting {
    /// Begins the cycles, at a cadence where the configuration names none.
    pub(super) fn start(order: &Order, clusters: Vec<Cluster>, cadence: Duration) -> Collecting {
        let rounds = clusters.into_iter().map(|cluster| {
            let own_cadence = cluster.own_cadence.or(Some(cadence));
            let cluster = Cluster { own_cadence, ..cluster };
            Round { machine: live::machine(&cluster), every: cluster.cadence(), cluster }
        });
        Collecting::of(order, rounds)
    }

    /// Begins the cycles of machines that are given.
    pub(super) fn of(order: &Order, rounds: impl Iterator<Item = Round>) -> Collecting {
        let (stop, stopped) = watch::channel(false);
        let work = rounds
            .map(|round| {
                let pace = UntilStopped { clock: round.machine.clone(), stopped: stopped.clone() };
                tokio::spawn(cycles(order.clone(), round, pace, complain))
            })
            .collect();
        Collecting { stop, work }
    }

    /// Ends them when what is under way is written.
    pub(super) async fn stop(self) -> Result<()> {
        // All the cycles may have ended by themselves; then nobody listens.
        let _ = self.stop.send(true);
        for work in self.work {
            work.await.context("a collector stopped")?;
        }
        Ok(())
    }
}

/// A cluster, where it is asked, and how often.
pub(super) struct Round {
    pub(super) cluster: Cluster,
    pub(super) machine: Arc<dyn Machine>,
    pub(super) every: Duration,
}

/// The cycles of one cluster, at whole multiples of its cadence: however long one takes, the next
/// is not late, and two never run at once. One that outlasts its cadence leaves moments out, which
/// is said when it begins to be so.
async fn cycles(
    order: Order,
    Round { cluster, machine, every: cadence }: Round,
    mut pace: impl Pace,
    mut say: impl FnMut(&str) + Send,
) {
    let name = &cluster.name;
    let mut is_late = false;
    loop {
        let began = machine.now();
        match collect(&order, &cluster, &machine).await {
            Ok(summary) => say(&format!("{name}: {}", summary.line())),
            Err(error) => say(&format!("error: {}", words(&error))),
        }
        let ended = machine.now();
        let took = Duration::try_from(ended.duration_since(began)).unwrap_or_default();
        if took > cadence && !is_late {
            say(&format!(
                "{name}: collecting took {} s, longer than its cadence of {} s; what should have \
                 begun meanwhile is left out",
                took.as_secs(),
                cadence.as_secs()
            ));
        }
        is_late = took > cadence;
        if !pace.wait(next_cycle(ended, cadence)).await {
            return;
        }
    }
}

/// The next whole multiple of a cadence.
fn next_cycle(now: Timestamp, cadence: Duration) -> Timestamp {
    let cadence = i128::try_from(cadence.as_nanos()).unwrap_or(i128::MAX).max(1);
    let next = (now.as_nanosecond().div_euclid(cadence) + 1).saturating_mul(cadence);
    Timestamp::from_nanosecond(next).unwrap_or(Timestamp::MAX)
}

/// What lets time pass between two cycles.
trait Pace: Send {
    /// Waits until a moment; false if there is to be no other cycle.
    fn wait(&mut self, moment: Timestamp) -> BoxFuture<'_, bool>;
}

/// Time as it passes, until somebody says stop.
struct UntilStopped {
    clock: Arc<dyn Machine>,
    stopped: watch::Receiver<bool>,
}

impl Pace for UntilStopped {
    fn wait(&mut self, moment: Timestamp) -> BoxFuture<'_, bool> {
        // A clock that is set is noticed within this time.
        const GLANCE: Duration = Duration::from_secs(20);
        async move {
            while !*self.stopped.borrow_and_update() {
                let left = moment.duration_since(self.clock.now());
                let Ok(left) = Duration::try_from(left) else { return true };
                if left.is_zero() {
                    return true;
                }
                tokio::select! {
                    () = tokio::time::sleep(left.min(GLANCE)) => {}
                    _ = self.stopped.changed() => {}
                }
            }
            false
        }
        .boxed()
    }
}

/// Waits until the process is told to stop.
pub(super) async fn stop_signal() -> Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate()).context("cannot wait for signals")?;
    tokio::select! {
        interrupt = tokio::signal::ctrl_c() => interrupt.context("cannot wait for signals"),
        _ = terminate.recv() => Ok(()),
    }
}

/// What the days that were asked about had in them, for who watches.
async fn show(config: &Config, lake: &Lake, arguments: &Collect) -> Result<()> {
    let now = config.now();
    let days = SignedDuration::from_hours(24 * i64::from(arguments.days));
    let start = (now - days).to_zoned(config.zone.clone()).start_of_day()?.timestamp();
    let question = Question {
        clusters: arguments.cluster.clone(),
        memory: config.memory.clone(),
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

/// The progress of one cluster, shown while a person watches, and not otherwise.
pub(super) fn progress(steps: u64, cluster: &str) -> ProgressBar {
    labelled(ProgressBar::with_draw_target(Some(steps), progress_target()), cluster)
}

/// The progress of one of several clusters that are collected at once.
pub(super) fn progress_of(bars: &MultiProgress, steps: u64, cluster: &str) -> ProgressBar {
    labelled(bars.add(ProgressBar::new(steps)), cluster)
}

fn labelled(bar: ProgressBar, cluster: &str) -> ProgressBar {
    let style = ProgressStyle::with_template("{prefix:>12} {bar:32} {pos}/{len} {msg}")
        .expect("the template is one of ours");
    bar.set_style(style);
    bar.set_prefix(cluster.to_owned());
    bar
}

pub(super) fn progress_target() -> ProgressDrawTarget {
    match std::io::stderr().is_terminal() {
        true => ProgressDrawTarget::stderr(),
        false => ProgressDrawTarget::hidden(),
    }
}

#[cfg(test)]
mod tests;
