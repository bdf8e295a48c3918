//! The command line, and its help.

mod archive;
mod choice;
mod compact;
mod engine;
mod pages;
mod policy;
mod post;
mod shell;

pub(crate) use archive::{Prune, Reprocess};
pub(crate) use choice::Choices;
pub(crate) use compact::Compact;
pub(crate) use engine::{Executor, Scheduler, Workers};
pub(crate) use pages::Pages;
pub(crate) use policy::{Policy, PolicyList, PolicySet};
pub(crate) use post::{Digest, Notify};
pub(crate) use shell::{Completions, Man};

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::{Args, Parser, Subcommand};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use lake::{Lake, Place, StoreSettings};
use query::{Memory, PeriodEnd, Question};
use report::Period;

use crate::config::{Config, Environment, LONGEST_CADENCE, duration, memory_limit};

/// Keeps the usage history of SLURM and HTCondor clusters, and shows who used what, how well.
#[derive(Parser)]
#[command(
    name = "plimsoll",
    version,
    after_help = "First steps:\n  \
        plimsoll demo                       a simulated site, no scheduler needed\n  \
        plimsoll init                       a first plimsoll.toml from what is installed here\n  \
        plimsoll collect --days 7           the last days into ./data\n  \
        plimsoll analyze                    who used how much, how well\n  \
        plimsoll                            who holds what right now (plimsoll current)\n\n\
        Exit status: 0 done, 1 done with findings (input or files that could not be read), 2 could not."
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) site: Site,
    /// Without one, what is running now.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// What every command takes.
#[derive(Args)]
pub(crate) struct Site {
    /// The configuration [default: $PLIMSOLL_CONFIG, ./plimsoll.toml, the user's, /etc/plimsoll/plimsoll.toml]
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Where the history is kept, a folder or s3://BUCKET/PREFIX [default: the configuration's data_dir, or ./data]
    #[arg(long, global = true, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// How much memory questions may hold together, such as 2GiB [default: the configuration's memory_limit, or no limit]
    #[arg(long, global = true, value_name = "SIZE", value_parser = memory_limit)]
    memory_limit: Option<u64>,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Write a first plimsoll.toml from what is installed here
    Init(Init),
    /// Ask the schedulers, and keep what they say
    Collect(Collect),
    /// Derive the tables again from what the schedulers printed
    Reprocess(Reprocess),
    /// Remove what the schedulers printed long ago
    Prune(Prune),
    /// Make spans and sums of days that are over, as collecting does
    Compact(Compact),
    /// List the stored site policies, or store a corrected one for an earlier time
    #[command(subcommand)]
    Policy(Policy),
    /// Show all about the last days: totals, users, nodes, states, efficiency, waste
    Analyze(Analyze),
    /// Answer a question about the history
    Report(Report),
    /// What backfill gave and what it cost: the first of the reports about it
    Backfill(Backfill),
    /// What is left of what was granted, and until when it will last
    Allocations(Allocations),
    /// What a day, a week or a month brought, as a document or by mail
    Digest(Digest),
    /// Write letters to those who hold what they do not use
    Notify(Notify),
    /// Draw GPUs over time: which were free, busy, or gone
    Heatmap(Heatmap),
    /// Draw what GPUs did, or the answer of a report: over time, as bars, as curves
    Chart(Chart),
    /// Answer your own question, in SQL
    Sql(Sql),
    /// What is kept, how fresh it is, and what went wrong
    Status(Status),
    /// Who holds what right now, and who waits for what; also what no command at all does
    Current(Current),
    /// Each node right now: state, CPUs, memory and GPUs in use, and why it is not usable
    Nodes(Nodes),
    /// Try everything that collecting needs, and say what to do where it fails
    #[command(visible_alias = "doctor")]
    Test(Test),
    /// Compare our totals with those of SLURM's sreport, and explain the difference
    Reconcile(Reconcile),
    /// Take over the history that another tool kept
    Import(Import),
    /// Write what other programs read
    Export(Export),
    /// Show the reports as web pages, and metrics for Prometheus
    Serve(Serve),
    /// Write the web pages into a folder, for places without a server
    Site(Pages),
    /// Plan questions that several machines work on, for those who ask with --engine
    Scheduler(Scheduler),
    /// Work on questions for a scheduler
    Executor(Executor),
    /// Who may log in to the pages with a password
    #[command(subcommand)]
    User(User),
    /// What programs say who they are with
    #[command(subcommand)]
    Token(Token),
    /// Create a folder with a simulated site of two clusters, and print a summary
    Demo(Demo),
    /// Print what a shell needs to complete these commands
    Completions(Completions),
    /// Write the manual pages into a folder
    Man(Man),
}

#[derive(Args)]
#[command(after_help = "Example:\n  plimsoll init && $EDITOR plimsoll.toml")]
pub(crate) struct Init {
    /// The file to write; one that is there is never overwritten
    #[arg(default_value = "plimsoll.toml")]
    pub(crate) file: PathBuf,
}

#[derive(Args)]
#[command(after_help = "Examples:\n  \
    plimsoll collect                      since yesterday, all clusters\n  \
    plimsoll collect --days 30            the first time, before SLURM purges its records\n  \
    plimsoll collect --every 5m           until it is stopped, at every fifth minute of the clock\n  \
    plimsoll collect -d 7 --summary > week.txt   the last week, and its totals into a file\n  \
    5 * * * * plimsoll collect            a line for cron\n\n\
    Days that were asked about when they were over are not asked about again. If nobody collected\n\
    for longer than --days, what was missed is caught up.\n\n\
    Without a plimsoll.toml it collects the SLURM cluster of this machine into ./data.")]
#[derive(Clone)]
pub(crate) struct Collect {
    /// How many days before today to ask about
    #[arg(short, long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(0..=3660))]
    pub(crate) days: u16,
    /// Only this cluster; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) cluster: Vec<String>,
    /// Ask about all of the days, also those that are known to be complete
    #[arg(long)]
    pub(crate) refresh: bool,
    /// How many days are asked about at once
    #[arg(short, long, default_value_t = 4, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=64))]
    pub(crate) n_parallel: u8,
    /// Print the totals and the jobs per day of the collected days [default: only in a terminal]
    #[arg(long, conflicts_with = "every", overrides_with = "no_summary")]
    pub(crate) summary: bool,
    /// Do not print that summary, not even in a terminal
    #[arg(long, overrides_with = "summary")]
    pub(crate) no_summary: bool,
    /// Go on collecting until told to stop, each cluster at whole multiples of its cadence; of this
    /// time (s, m or h) where the configuration names none
    #[arg(long, value_name = "TIME", value_parser = cadence)]
    pub(crate) every: Option<Duration>,
}

/// A time between two collections.
fn cadence(written: &str) -> Result<Duration> {
    match duration(written) {
        Some(cadence) if (Duration::from_secs(1)..=LONGEST_CADENCE).contains(&cadence) => {
            Ok(cadence)
        }
        _ => bail!("write a whole number and s, m or h, such as 5m, up to 24h"),
    }
}

#[derive(Args)]
#[command(after_help = "Examples:\n  \
    plimsoll analyze                      the last week, all clusters\n  \
    plimsoll analyze --by account --days 30\n  \
    plimsoll analyze --from 2026-11-01 --to 2026-12-01 -o november.html\n\n\
    Each part is a report of its own, and there are more, such as wait, time-limit, rightsizing and\n\
    gpu-efficiency: 'plimsoll report' lists them. Exit status 1: there are no jobs in the period.")]
pub(crate) struct Analyze {
    #[command(flatten)]
    pub(crate) about: About,
    #[command(flatten)]
    pub(crate) workers: Workers,
    /// Only the totals, the usage by this, and the efficiency
    #[arg(long, value_name = "WHAT", value_parser = ["user", "group", "account", "partition", "qos", "node", "gpu-model"])]
    pub(crate) by: Option<String>,
    /// Only the first N rows of each ranking [default: 15 users, 20 groups or nodes, 10 wasters; all with --by]
    #[arg(long, value_name = "N")]
    pub(crate) top: Option<usize>,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Args)]
#[command(after_help = "Examples:\n  \
    plimsoll report usage-by-user --days 30\n  \
    plimsoll report daily --from 2026-11-01 --to 2026-12-01 -o november.html\n  \
    plimsoll report states --cluster alder --format json\n  \
    plimsoll report gpu-usage --hours 24 --to 2026-11-15T18:00\n  \
    plimsoll report gpu-usage --by device --days 1\n  \
    plimsoll report gpu-users --device H200 --class Shared --anonymize\n  \
    plimsoll report efficiency --user ann --days 30\n  \
    plimsoll report backfill-advice --runtime 6h --gpus 1 --days 90\n\n\
    Options that choose or add up are for reports that have them; docs/reports.md says which.")]
pub(crate) struct Report {
    /// Which one; without a name, the list of reports
    #[arg(id = "report", value_name = "NAME")]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) about: About,
    #[command(flatten)]
    pub(crate) workers: Workers,
    /// Only the first N rows
    #[arg(long, value_name = "N")]
    pub(crate) top: Option<usize>,
    #[command(flatten)]
    pub(crate) options: AnalysisOptions,
    #[command(flatten)]
    pub(crate) choices: Choices,
    /// Put a pseudonym in the place of each user: always the same for the same user
    #[arg(long)]
    pub(crate) anonymize: bool,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// What an analysis is told beside the period, for reports and charts; docs/reports.md says which has
/// which.
#[derive(Args)]
pub(crate) struct AnalysisOptions {
    /// Add up by this
    #[arg(long, value_name = "WHAT")]
    by: Option<String>,
    /// Only GPUs of this model, by its name or family; * and ? stand for letters
    #[arg(long, value_name = "MODEL")]
    device: Option<String>,
    /// At this moment of the period
    #[arg(long, value_name = "TIME")]
    at: Option<String>,
    /// In steps of this length
    #[arg(long, value_name = "STEP")]
    step: Option<String>,
    /// Of a job that would run for so long, such as 6h
    #[arg(long, value_name = "TIME")]
    runtime: Option<String>,
    /// Of a job with so many GPUs
    #[arg(long, value_name = "N")]
    gpus: Option<String>,
    /// Whose checkpoint takes so long to write, such as 5m
    #[arg(long, value_name = "TIME")]
    checkpoint_cost: Option<String>,
    /// Only this allocation
    #[arg(long, value_name = "NAME")]
    allocation: Option<String>,
}

#[derive(Args)]
#[command(after_help = "Examples:\n  \
    plimsoll backfill --days 30\n  \
    plimsoll backfill --days 30 --by device -o backfill.html\n  \
    plimsoll report backfill-advice --runtime 6h --gpus 1 --days 90")]
pub(crate) struct Backfill {
    #[command(flatten)]
    pub(crate) about: About,
    #[command(flatten)]
    pub(crate) workers: Workers,
    /// Add up by this: class, device, cluster or day
    #[arg(long, value_name = "WHAT")]
    pub(crate) by: Option<String>,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Args)]
#[command(after_help = "Examples:\n  \
    plimsoll allocations\n  \
    plimsoll allocations --cluster alder --at 2026-07-01 -o allocations.html\n\n\
    Allocations are the [[allocation]] of plimsoll.toml, or the lines of its allocation_file.")]
pub(crate) struct Allocations {
    /// Only those that hold in this cluster; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) cluster: Vec<String>,
    /// As they stood at the beginning of this day, or at this moment [default: now, or the newest
    /// data if that is more than a day old]
    #[arg(long, value_name = "TIME")]
    pub(crate) at: Option<String>,
    #[command(flatten)]
    pub(crate) workers: Workers,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Args)]
#[command(after_help = "Examples:\n  \
    plimsoll heatmap                                  the last 24 hours, in the terminal\n  \
    plimsoll heatmap --days 7 -o gpus.png             a week, 300 dots per inch\n  \
    plimsoll heatmap --model H200 --color user -o h200.html\n  \
    plimsoll heatmap --host gpu4001 --hours 6 --bucket 1m --theme print -o gpu4001.svg\n  \
    plimsoll heatmap --hours 6 --to 2026-11-15T18:00  the six hours before that moment\n  \
    plimsoll heatmap --class Shared --list            which GPUs that would show\n\n\
    A cell shows the state that held longest in it. Where there are more GPUs than lines, a row is\n\
    a machine or a model, and the height of a colour is the part of its GPUs.")]
pub(crate) struct Heatmap {
    #[command(flatten)]
    pub(crate) gpus: Gpus,
    #[command(flatten)]
    pub(crate) about: About,
    /// How long a column is (s, m, h, d or w) [default: 5m, longer for long periods]
    #[arg(long, value_name = "TIME", value_parser = query::Bucket::parse)]
    pub(crate) bucket: Option<query::Bucket>,
    /// What colours stand for
    #[arg(long, value_name = "WHAT", default_value = "state", value_parser = ["state", "user", "utilization"])]
    pub(crate) color: String,
    /// What a row is [auto: a GPU, or where these are too many, a machine or a model]
    #[arg(long, value_name = "WHAT", default_value = "auto", value_parser = ["auto", "gpu", "machine", "device"])]
    pub(crate) rows: String,
    /// What rows are sorted and labelled by
    #[arg(long, value_name = "WHAT", default_value = "machine", value_parser = ["machine", "device"])]
    pub(crate) group_by: String,
    /// List the GPUs that would be shown, and draw nothing
    #[arg(long)]
    pub(crate) list: bool,
    #[command(flatten)]
    pub(crate) canvas: Canvas,
}

#[derive(Args)]
#[command(after_help = "Examples:\n  \
    plimsoll chart                                    which charts there are\n  \
    plimsoll chart gpu-usage --by user --days 30 -o usage.png\n  \
    plimsoll chart gpu-availability --model A100 -o a100.html\n  \
    plimsoll chart gpu-week --from 2026-10-01 --to 2026-11-01 -o october.svg\n  \
    plimsoll chart backfill-survival --by class --days 90 -o survival.png\n  \
    plimsoll chart backfill-summary --by day --days 30 -o backfill.svg\n  \
    plimsoll chart allocations -o allocations.png\n\n\
    --gpu, --host, --host-pattern, --model and --bucket are for charts of what GPUs did:\n\
    gpu-usage, which is --by class, device or user, gpu-availability, gpu-week and gpu-idle-time.\n\
    The others draw what the report of that name says, and have its options; docs/reports.md says\n\
    which.")]
pub(crate) struct Chart {
    /// Which one; without a name, the list of charts
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) gpus: Gpus,
    #[command(flatten)]
    pub(crate) about: About,
    /// How long a column of time is (s, m, h, d or w) [default: by the period]
    #[arg(long, value_name = "TIME", value_parser = query::Bucket::parse)]
    pub(crate) bucket: Option<query::Bucket>,
    #[command(flatten)]
    pub(crate) options: AnalysisOptions,
    #[command(flatten)]
    pub(crate) canvas: Canvas,
}

/// Which GPUs; all that is said must hold.
#[derive(Args, Default, PartialEq)]
pub(crate) struct Gpus {
    /// Only GPUs with these ids, whose ids begin so, or that fit a pattern such as 'GPU-0a*', with or without GPU-
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    pub(crate) gpu: Vec<String>,
    /// Only this machine, with or without its domain; may be given several times
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) host: Vec<String>,
    /// Only machines in whose names this regular expression is found
    #[arg(long, value_name = "REGEX")]
    pub(crate) host_pattern: Option<String>,
    /// Only models with this in their name, or that fit a pattern such as '*A100*80*'
    #[arg(long, value_name = "PATTERN")]
    pub(crate) model: Option<String>,
    /// Only GPUs in this class, such as Shared or 'open capacity'
    #[arg(long, value_name = "NAME")]
    pub(crate) class: Option<String>,
}

/// How a picture looks, and where it goes.
#[derive(Args)]
pub(crate) struct Canvas {
    /// text, png, svg, html, csv or json [default: by the file's ending, else text]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<String>,
    /// Write to a file instead of the terminal
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Put pseudonyms in the place of users, always the same for the same user
    #[arg(long)]
    pub(crate) anonymize: bool,
    /// What stands above the picture
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: Option<String>,
    /// default, colorblind, print or dark
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub(crate) theme: String,
    /// In inches
    #[arg(long, value_name = "INCHES", default_value_t = 10.0, value_parser = inches)]
    pub(crate) width: f64,
    /// In inches [default: as high as the rows need]
    #[arg(long, value_name = "INCHES", value_parser = inches)]
    pub(crate) height: Option<f64>,
    /// Dots per inch of a PNG
    #[arg(long, value_name = "N", default_value_t = 300.0, value_parser = dots)]
    pub(crate) dpi: f64,
}

fn inches(written: &str) -> Result<f64> {
    match written.parse() {
        Ok(inches) if (1.0..=200.0).contains(&inches) => Ok(inches),
        _ => bail!("write inches, from 1 to 200"),
    }
}

fn dots(written: &str) -> Result<f64> {
    match written.parse() {
        Ok(dots) if (10.0..=2400.0).contains(&dots) => Ok(dots),
        _ => bail!("write a number from 10 to 2400"),
    }
}

#[derive(Args)]
#[command(after_help = "Examples:\n  \
    plimsoll sql 'SELECT state, count(*) AS jobs FROM job GROUP BY state'\n  \
    plimsoll sql 'SHOW TABLES'\n  \
    plimsoll sql --days 7 'SELECT user, sum(run_seconds) / 3600 AS hours FROM job_run GROUP BY user'\n\n\
    Tables and their columns: docs/tables.md, or 'DESCRIBE job'. Terms such as job_run are cut to\n\
    the period; without one they cover everything.")]
pub(crate) struct Sql {
    /// One statement that reads
    pub(crate) statement: String,
    #[command(flatten)]
    pub(crate) about: About,
    #[command(flatten)]
    pub(crate) workers: Workers,
    /// At most so many rows
    #[arg(long, default_value_t = 1000, value_name = "N")]
    pub(crate) limit: usize,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Args)]
#[command(after_help = "Example:\n  plimsoll status --format json")]
pub(crate) struct Status {
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Args, Default)]
#[command(after_help = "Examples:\n  \
    plimsoll current\n  \
    plimsoll current --cluster alder --format json\n\n\
    Runs squeue and scontrol once for each SLURM cluster, and condor_q once for each access point of\n\
    an HTCondor pool. Without a plimsoll.toml it queries the cluster that this machine belongs to.")]
pub(crate) struct Current {
    /// Only this cluster; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) cluster: Vec<String>,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Args)]
#[command(after_help = "Examples:\n  \
    plimsoll nodes\n  \
    plimsoll nodes --cluster alder -o nodes.html\n\n\
    Runs scontrol once for each SLURM cluster, and condor_status once for each HTCondor pool. Without\n\
    a plimsoll.toml it queries the cluster that this machine belongs to.")]
pub(crate) struct Nodes {
    /// Only this cluster; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) cluster: Vec<String>,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Args)]
#[command(after_help = "Examples:\n  \
    plimsoll test\n  \
    plimsoll doctor --cluster alder --format json\n\n\
    A line a check: ok, warn or FAIL, what was tried, what was seen, what to do.\n\
    Exit status: 0 all is fine, 1 something is to be looked at, 2 could not try.")]
pub(crate) struct Test {
    /// Only this cluster; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) cluster: Vec<String>,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Args)]
#[command(after_help = "Examples:\n  \
    plimsoll reconcile --days 30\n  \
    plimsoll reconcile --from 2026-11-01 --to 2026-12-01 --cluster alder -o november.csv\n\n\
    sreport adds up whole hours that are over; the period is cut to those.\n\
    Exit status: 0 both agree, 1 they differ, 2 could not compare.")]
pub(crate) struct Reconcile {
    #[command(flatten)]
    pub(crate) about: About,
    /// How many percent of a sum may differ without being called a difference
    #[arg(long, default_value_t = 1.0, value_name = "PERCENT")]
    pub(crate) tolerance: f64,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Args)]
pub(crate) struct Import {
    #[command(subcommand)]
    pub(crate) tool: Tool,
}

#[derive(Subcommand)]
pub(crate) enum Tool {
    /// The raw/ and processed/ folders of slurm-usage
    SlurmUsage(ImportSlurmUsage),
    /// The monthly files of gpureports: states of GPUs, and jobs that waited for them
    Gpureports(ImportGpureports),
}

#[derive(Args)]
#[command(after_help = "Example:\n  \
    plimsoll import slurm-usage ~/slurm-usage/data --cluster alder --zone America/Chicago\n\n\
    A job that sacct printed (raw/) counts before what was made of it (processed/), and one that\n\
    plimsoll collected from SLURM itself before both. Run twice, it changes nothing.\n\
    Groups are configuration: those of slurm-usage that plimsoll.toml lacks are printed as lines for it.")]
pub(crate) struct ImportSlurmUsage {
    /// The folder that slurm-usage calls data_dir
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// Whose history it is [default: the one SLURM cluster of the configuration]
    #[arg(long, value_name = "NAME")]
    pub(crate) cluster: Option<String>,
    /// The time zone of the machine that slurm-usage ran on, such as America/Chicago [default: the
    /// configuration's]
    #[arg(long, value_name = "ZONE")]
    pub(crate) zone: Option<String>,
    /// The configuration of slurm-usage, which names its groups [default: the first of
    /// ~/.config/slurm-usage/config.yaml and /etc/slurm-usage/config.yaml that exists]
    #[arg(long, value_name = "FILE")]
    pub(crate) groups: Option<PathBuf>,
}

impl ImportSlurmUsage {
    /// The configuration of slurm-usage: the named one, or the one that slurm-usage would read.
    pub(crate) fn groups_file(&self) -> Result<Option<PathBuf>> {
        if self.groups.is_some() {
            return Ok(self.groups.clone());
        }
        let Environment { xdg_config_home, home, .. } = environment()?;
        let user = xdg_config_home.or(home.map(|home| home.join(".config")));
        let folders = user.into_iter().chain([PathBuf::from("/etc")]);
        let mut files = folders.map(|folder| folder.join("slurm-usage/config.yaml"));
        Ok(files.find(|file| file.is_file()))
    }
}

#[derive(Args)]
#[command(after_help = "Examples:\n  \
    plimsoll import gpureports ~/gpureports --cluster chtc --zone America/Chicago\n  \
    plimsoll import gpureports gpu_state_2026-08.parquet --zone UTC\n\n\
    Reads gpu_state_2026-04.parquet, gpu_state_2026-04.db and job_pressure_2026-04.db. What two files\n\
    of a month both have counts once. Run twice, it changes nothing. The files are not kept: what\n\
    they say of GPUs is kept as spans, one for as long as nothing changes.\n\
    chtc_owned and masked_hosts.yaml become the site policy from the first imported sample on, until\n\
    the next stored policy (`plimsoll policy list`).")]
pub(crate) struct ImportGpureports {
    /// The folder that gpureports calls data-dir, or one of its files
    #[arg(value_name = "DIR|FILE")]
    pub(crate) path: PathBuf,
    /// Whose history it is [default: the one HTCondor pool of the configuration]
    #[arg(long, value_name = "NAME")]
    pub(crate) cluster: Option<String>,
    /// The time zone of the machine that gpureports ran on, such as America/Chicago [default: the
    /// configuration's]
    #[arg(long, value_name = "ZONE")]
    pub(crate) zone: Option<String>,
    /// The machines that the institution owns, one a line [default: chtc_owned beside the imported
    /// files]
    #[arg(long, value_name = "FILE")]
    pub(crate) chtc_owned: Option<PathBuf>,
    /// The machines that reports leave out [default: masked_hosts.yaml beside the imported files]
    #[arg(long, value_name = "FILE")]
    pub(crate) masked_hosts: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct Export {
    #[command(subcommand)]
    pub(crate) what: Exported,
}

#[derive(Subcommand)]
pub(crate) enum Exported {
    /// What was last seen of the clusters, as Prometheus text
    Metrics(ExportMetrics),
    /// Attempts of jobs, a line of JSON each
    Jobs(ExportJobs),
}

#[derive(Args)]
#[command(after_help = "Examples:\n  \
    plimsoll export metrics\n  \
    plimsoll export metrics -o /var/lib/node_exporter/plimsoll.prom\n  \
    plimsoll export metrics --names vpenso --cluster alder\n\n\
    No scheduler is asked: it is what the last collection saw, with its age. docs/metrics.md has\n\
    every name.")]
pub(crate) struct ExportMetrics {
    /// Those of another exporter: vpenso, rivosinc or origin; they are about one cluster
    #[arg(long, value_name = "WHOSE")]
    pub(crate) names: Option<String>,
    /// Which cluster, with --names
    #[arg(long, value_name = "NAME", requires = "names")]
    pub(crate) cluster: Option<String>,
    /// Write to a file instead of the terminal
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Args)]
#[command(after_help = "Examples:\n  \
    plimsoll export jobs --days 1 | jq 'select(.state == \"FAILED\")'\n  \
    plimsoll export jobs --from 2026-01-01 --to 2026-02-01 -o january.ndjson\n  \
    plimsoll export jobs --days 365 --push search   the first fill of a [[push]]\n\n\
    The attempts that waited or ran in the period, whole. What a [[push]] of plimsoll.toml was told\n\
    of before takes its own place. docs/push.md has every field.")]
pub(crate) struct ExportJobs {
    #[command(flatten)]
    pub(crate) about: About,
    /// Write to a file instead of the terminal
    #[arg(short, long, value_name = "FILE", conflicts_with = "push")]
    pub(crate) output: Option<PathBuf>,
    /// Push to this [[push]] of the configuration instead
    #[arg(long, value_name = "NAME")]
    pub(crate) push: Option<String>,
}

#[derive(Args)]
#[command(after_help = "Example:\n  plimsoll serve --listen 127.0.0.1:8040\n\n\
    Without [access] in plimsoll.toml it is for this machine alone, where everybody sees everything;\n\
    docs/security.md says how others are let in.")]
pub(crate) struct Serve {
    /// Address and port
    #[arg(long, default_value = "127.0.0.1:8040", value_name = "ADDRESS")]
    pub(crate) listen: SocketAddr,
    /// Collect too, at whole multiples of this time (s, m or h), as `collect --every` does
    #[arg(long, value_name = "TIME", value_parser = cadence)]
    pub(crate) collect: Option<Duration>,
}

#[derive(Subcommand)]
#[command(after_help = "Examples:\n  \
    plimsoll user add ann\n  \
    plimsoll user logout ann              ends the sessions of ann in all browsers\n\n\
    What a user sees is by the name: staff, coordinators of accounts and everybody else are told apart\n\
    by [access] in plimsoll.toml.")]
pub(crate) enum User {
    /// Add a user, or change a password; it is asked for, or read from the input
    Add {
        /// As the schedulers call the user
        name: String,
    },
    /// Remove a user, and end the user's sessions
    Remove {
        /// As the user was added
        name: String,
    },
    /// End all sessions of a user, also those from OpenID Connect
    Logout {
        /// As the user logged in
        name: String,
    },
}

#[derive(Subcommand)]
#[command(after_help = "Examples:\n  \
    plimsoll token add prometheus --scope metrics\n  \
    plimsoll token add ann                         what ann sees")]
pub(crate) enum Token {
    /// Make a token and show it; it is kept nowhere in clear
    Add {
        /// The user that it stands for, or what it is for
        name: String,
        /// What it lets a program see: all, what the user of that name sees, what is public, or
        /// metrics alone
        #[arg(long, default_value = "self", value_parser = ["staff", "self", "public", "metrics"])]
        scope: String,
    },
    /// Remove all tokens of a name
    Remove {
        /// As they were made
        name: String,
    },
}

#[derive(Args)]
#[command(after_help = "Examples:\n  \
    plimsoll demo\n  \
    plimsoll demo --days 3 --until 2026-11-01 --seed 7\n  \
    plimsoll demo --serve                 the same in a browser, collected as time passes\n\n\
    The folder's plimsoll.toml names two simulated clusters, so every command works in the folder.\n\
    The site goes on for a week after the demo was made; with --until it ends where the history does.\n\
    With --serve, a demo with the same --days and --seed goes on; other demos are replaced.")]
pub(crate) struct Demo {
    /// The folder to fill; an earlier demo in it is replaced. The history is there too, unless
    /// --data-dir names another place that has none
    #[arg(default_value = "plimsoll-demo")]
    pub(crate) folder: PathBuf,
    /// Another seed is another site; the same is the same, to the byte
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// The day on whose first moment history and site end, in UTC [default: now, and a week later]
    #[arg(long, value_name = "DATE")]
    pub(crate) until: Option<Date>,
    /// How many whole days of history
    #[arg(short, long, default_value_t = 14, value_parser = clap::value_parser!(u16).range(1..=366))]
    pub(crate) days: u16,
    /// Show it as web pages until Ctrl-C, and collect meanwhile
    #[arg(long, conflicts_with = "until")]
    pub(crate) serve: bool,
    /// Address and port of the pages
    #[arg(long, default_value = "127.0.0.1:8040", value_name = "ADDRESS", requires = "serve")]
    pub(crate) listen: SocketAddr,
    /// How often to collect meanwhile (s, m or h)
    #[arg(long, default_value = "1m", value_name = "TIME", value_parser = cadence, requires = "serve")]
    pub(crate) collect: Duration,
}

/// What a question is about.
#[derive(Args)]
pub(crate) struct About {
    /// From midnight N days before the end of the period [default: 7; heatmap: 24 hours]
    #[arg(short, long, value_name = "N", conflicts_with_all = ["from", "hours"], value_parser = clap::value_parser!(u16).range(0..=36600))]
    days: Option<u16>,
    /// From N hours before the end of the period
    #[arg(long, value_name = "N", conflicts_with = "from", value_parser = clap::value_parser!(u32).range(1..=876_000))]
    hours: Option<u32>,
    /// From this day or moment on (2026-11-01, 2026-11-01T12:00, 2026-11-01T12:00:00Z)
    #[arg(long, value_name = "TIME")]
    from: Option<String>,
    /// Until this day or moment, not included; with --from, --days or --hours [default: now, or the
    /// newest data if that is more than a day old]
    #[arg(long, value_name = "TIME")]
    to: Option<String>,
    /// Only this cluster; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) cluster: Vec<String>,
}

/// Where an answer goes, and as what.
#[derive(Args, Default)]
pub(crate) struct Output {
    /// text, csv, json, markdown or html [default: by the file's ending, else text]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<String>,
    /// Write to a file instead of the terminal
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

impl Site {
    /// The site of a configuration that the program wrote itself.
    pub(crate) fn of(config: PathBuf) -> Site {
        Site { config: Some(config), data_dir: None, memory_limit: None }
    }

    /// Reads and checks the configuration, before anything starts.
    pub(crate) fn load(&self) -> Result<Config> {
        let mut config = Config::load(self.config.as_deref(), &environment()?)?;
        if let Some(place) = self.data_dir()? {
            config.data_dir = place;
        }
        if let Some(bytes) = self.memory_limit {
            config.memory = Memory::limited(bytes)?;
        }
        Ok(config)
    }

    /// Where the history is kept, if the command line says so.
    pub(crate) fn data_dir(&self) -> Result<Option<Place>> {
        let Some(data_dir) = &self.data_dir else { return Ok(None) };
        let place = Place::read(data_dir, Path::new(""), &environment()?.store_settings);
        place.map(Some).context("--data-dir")
    }
}

#[expect(clippy::disallowed_methods, reason = "the one place that reads the environment")]
fn environment() -> Result<Environment> {
    let path = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let variables = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    Ok(Environment {
        plimsoll_config: path("PLIMSOLL_CONFIG"),
        xdg_config_home: path("XDG_CONFIG_HOME"),
        home: path("HOME"),
        current_dir: std::env::current_dir().context("cannot tell which folder this is")?,
        system_zone: TimeZone::try_system().unwrap_or(TimeZone::UTC),
        store_settings: StoreSettings::of(variables),
    })
}

impl AnalysisOptions {
    /// What was said, by the names of the options.
    pub(crate) fn said(&self) -> BTreeMap<String, String> {
        let options = [
            ("by", &self.by),
            ("device", &self.device),
            ("at", &self.at),
            ("step", &self.step),
            ("runtime", &self.runtime),
            ("gpus", &self.gpus),
            ("checkpoint-cost", &self.checkpoint_cost),
            ("allocation", &self.allocation),
        ];
        let said = options.into_iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
        said.map(|(name, value)| (name.to_owned(), value.clone())).collect()
    }
}

impl About {
    /// The question, asked at `now`; without a period it is about the last week.
    pub(crate) async fn question(
        &self,
        lake: &Lake,
        config: &Config,
        now: Timestamp,
    ) -> Result<Question> {
        self.question_or(lake, config, now, Length::Days(7)).await
    }

    /// The same about collecting itself: a period without an end of its own ends now, so that
    /// failures later than the newest data are shown.
    pub(crate) fn question_about_collecting(
        &self,
        config: &Config,
        now: Timestamp,
    ) -> Result<Question> {
        if let Some(question) = self.between(config, now)? {
            return Ok(question);
        }
        let period = self.length().unwrap_or(Length::Days(7)).until(now, &config.zone)?;
        Ok(question_about(config, period, &self.cluster, now))
    }

    /// The question; without a period it is about the last 24 hours.
    pub(crate) async fn question_of_last_day(
        &self,
        lake: &Lake,
        config: &Config,
        now: Timestamp,
    ) -> Result<Question> {
        self.question_or(lake, config, now, Length::Hours(24)).await
    }

    async fn question_or(
        &self,
        lake: &Lake,
        config: &Config,
        now: Timestamp,
        default: Length,
    ) -> Result<Question> {
        match self.between(config, now)? {
            Some(question) => Ok(question),
            None => self.relative(lake, config, now, self.length().unwrap_or(default)).await,
        }
    }

    /// The question, about everything that the lake has unless a period is given.
    pub(crate) async fn question_about_all(
        &self,
        lake: &Lake,
        config: &Config,
        now: Timestamp,
    ) -> Result<Question> {
        if self.length().is_some() || self.from.is_some() || self.to.is_some() {
            return self.question(lake, config, now).await;
        }
        let period = query::whole_period(lake, &config.zone, now).await?;
        Ok(question_about(config, period, &self.cluster, now))
    }

    /// The length of the period, if one is given.
    fn length(&self) -> Option<Length> {
        self.hours.map(Length::Hours).or(self.days.map(Length::Days))
    }

    /// The question about a period with an end of its own: one with a beginning, or with a length and
    /// an end. None if neither is given.
    fn between(&self, config: &Config, now: Timestamp) -> Result<Option<Question>> {
        let period = match (self.length(), self.to.as_deref()) {
            (Some(length), Some(to)) => {
                Some(length.until(moment("--to", to, &config.zone)?, &config.zone)?)
            }
            (None, Some(_)) if self.from.is_none() => {
                bail!("--to needs --from, --days or --hours: give the beginning or the length")
            }
            (_, to) => between(self.from.as_deref(), to, &config.zone, now)?,
        };
        Ok(period.map(|period| question_about(config, period, &self.cluster, now)))
    }

    /// The question about a period that is named by its length.
    async fn relative(
        &self,
        lake: &Lake,
        config: &Config,
        now: Timestamp,
        length: Length,
    ) -> Result<Question> {
        let end = PeriodEnd::find(lake, &self.cluster, now).await?;
        let period = length.until(end.time, &config.zone)?;
        let question = question_about(config, period, &self.cluster, now);
        Ok(Question { period_end: Some(end), ..question })
    }
}

/// The length of a period that does not name its beginning.
#[derive(Clone, Copy)]
enum Length {
    Days(u16),
    Hours(u32),
}

impl Length {
    fn until(self, end: Timestamp, zone: &TimeZone) -> Result<Period> {
        let period = match self {
            Length::Days(days) => Period::last_days(days, zone, end),
            Length::Hours(hours) => Period::last_hours(hours, zone, end),
        };
        period.context(TOO_EARLY)
    }
}

/// What is asked about a period at this site.
fn question_about(
    config: &Config,
    period: Period,
    clusters: &[String],
    now: Timestamp,
) -> Question {
    Question {
        clusters: clusters.to_vec(),
        groups: config.groups.clone(),
        allocations: config.allocations.clone(),
        judgement: config.judgement.clone(),
        now,
        memory: config.memory.clone(),
        ..Question::about(period)
    }
}

/// The period from a day or moment to another, or to now; none if no beginning is said.
fn between(
    from: Option<&str>,
    to: Option<&str>,
    zone: &TimeZone,
    now: Timestamp,
) -> Result<Option<Period>> {
    let Some(from) = from else {
        if to.is_some() {
            bail!("--to needs --from: give the day or moment that the period begins with");
        }
        return Ok(None);
    };
    let start = moment("--from", from, zone)?;
    let end = match to {
        Some(to) => moment("--to", to, zone)?,
        None => now,
    };
    if end <= start {
        bail!(
            "the period ends before it begins: from {} to {}; --to is not included",
            start.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M:%S %Z"),
            end.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M:%S %Z")
        );
    }
    Ok(Some(Period { start, end, zone: zone.clone() }))
}

const TOO_EARLY: &str = "the period begins before the calendar does";

/// A day or a moment, in the site's zone unless it says which.
pub(crate) fn moment(option: &str, text: &str, zone: &TimeZone) -> Result<Timestamp> {
    report::moment(text, zone).map_err(|wrong| anyhow::anyhow!("{option} {wrong}"))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    /// Returns the commands with `--days`, by their words, below a command.
    fn check(command: &clap::Command, words: &str, found: &mut Vec<String>) {
        let days = command.get_arguments().find(|argument| argument.get_long() == Some("days"));
        if let Some(days) = days {
            assert_eq!(days.get_short(), Some('d'), "{words} --days");
            found.push(words.to_owned());
        }
        for below in command.get_subcommands() {
            check(below, &format!("{words} {}", below.get_name()), found);
        }
    }

    #[test]
    fn every_command_with_days_takes_the_short_option() {
        let mut found = Vec::new();
        check(&Cli::command(), "plimsoll", &mut found);
        for words in ["collect", "report", "backfill", "export jobs", "demo"] {
            assert!(found.contains(&format!("plimsoll {words}")), "{words}: {found:?}");
        }
    }
}
