//! What `bench/run` measures, a process a step, so that each has its own CPU time and memory.
//!
//! `bench print FOLDER SEED DAYS JOBS_A_DAY NODES FIRST_DAY DAY_ASKED [COLUMNS]` writes what the simulated
//! `sacct` prints when that day begins, a file a day: as `plimsoll collect` asks it, or for these columns,
//! in the units and of the runs that it prints unasked. `bench ingest FOLDER DATA_DIR DAY_ASKED` parses files
//! of the first kind and writes the lake.
//!
//! `bench slots FOLDER MACHINES LOOKS` writes what the simulated `condor_status` prints every five
//! minutes, a file a look; `bench cycles FOLDER NODES JOBS_A_DAY LOOKS NOW` the same of what
//! a SLURM cluster is asked in a cycle, a file a command, until now.
//!
//! `bench parse TEXT DAY_ASKED` only parses a file of `bench print`; `bench spans FOLDER DATA_DIR DAY` reads
//! the looks of `bench slots` and makes spans of them.
//!
//! `bench floor TEXT… OUT` reads files of `bench print`, cuts them into cells and writes these as Parquet into a
//! folder: the least that taking them over can cost.
//!
//! `bench note DATA_DIR CLUSTER` lets the tracker of a cluster know files that another program wrote.
//!
//! `bench rewrite DATA_DIR CLUSTER` puts files of jobs that another program wrote into a lake, in the
//! layout of ours, anew as we write them.

mod floor;
mod steps;

use std::fs::{self, File};
use std::io::{BufWriter, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use lake::Lake;
use record::{Job, Record};
use source::simulated::{Scale, Simulated, Site};
use source::slurm::{self, Offered, Sacct};
use source::{Command, Machine, Parser, htcondor};

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["print", folder, seed, days, jobs, nodes, first, asked, ref columns @ ..] => {
            let first: Date = first.parse()?;
            let start = midnight(first)?;
            let scale = Scale {
                seed: seed.parse()?,
                start,
                end: start + SignedDuration::from_hours(24 * days.parse::<i64>()?),
                slurm_jobs_per_day: jobs.parse()?,
                slurm_nodes: nodes.parse()?,
                condor_machines: 1,
            };
            print(Path::new(folder), &scale, first, asked.parse()?, columns.first().copied())
        }
        ["ingest", folder, data_dir, asked] => {
            alone(ingest(Path::new(folder), Path::new(data_dir), asked.parse()?))
        }
        ["floor", ref texts @ .., out] if !texts.is_empty() => {
            let out = Path::new(out);
            fs::create_dir_all(out)?;
            let (mut lines, mut rows) = (0, 0);
            for text in texts {
                let text = Path::new(text);
                let file = out.join(format!("{}.parquet", day_of(text)?));
                let counted = floor::floor(text, &file)?;
                (lines, rows) = (lines + counted.0, rows + counted.1);
            }
            Ok(writeln!(std::io::stdout(), "{lines} {rows}")?)
        }
        ["note", data_dir, cluster] => {
            alone(async { Lake::open(Path::new(data_dir))?.writer(cluster).await?.finish().await })
        }
        ["parse", text, asked] => say(steps::parse(Path::new(text), asked.parse()?)?),
        ["spans", folder, data_dir, day] => {
            say(alone(steps::spans(Path::new(folder), Path::new(data_dir), day.parse()?))?)
        }
        ["rewrite", data_dir, cluster] => alone(rewrite(Path::new(data_dir), cluster)),
        ["slots", folder, machines, looks] => {
            slots(Path::new(folder), machines.parse()?, looks.parse()?)
        }
        ["cycles", folder, nodes, jobs, looks, now] => {
            cycles(Path::new(folder), nodes.parse()?, jobs.parse()?, looks.parse()?, now.parse()?)
        }
        _ => bail!("see bench/run, bench/scale, bench/gpus, bench/live and bench/instructions"),
    }
}

/// Does a step on one core.
fn alone<T>(step: impl Future<Output = Result<T>>) -> Result<T> {
    tokio::runtime::Builder::new_current_thread().build()?.block_on(step)
}

fn say(count: usize) -> Result<()> {
    Ok(writeln!(std::io::stdout(), "{count}")?)
}

fn midnight(day: Date) -> Result<Timestamp> {
    Ok(day.to_zoned(TimeZone::UTC)?.timestamp())
}

/// What `sacct` says of a site's days, from the first one on, when it is asked as another one begins.
fn print(
    folder: &Path,
    scale: &Scale,
    first: Date,
    asked: Date,
    columns: Option<&str>,
) -> Result<()> {
    fs::create_dir_all(folder)?;
    let machine = Simulated {
        site: Arc::new(Site::new(scale)),
        cluster: Site::slurm_cluster().to_owned(),
        now: midnight(asked)?,
    };
    let mut fields = Vec::new();
    machine.run(&slurm::sacct_fields(), &mut |piece| fields.extend_from_slice(piece))?;
    let offered = Offered::read(&fields)?;
    let mut day = first;
    while midnight(day)? < scale.end {
        let next = day.tomorrow()?;
        let mut file = BufWriter::new(File::create(folder.join(format!("{day}.txt")))?);
        let mut written = Ok(());
        let command = match columns {
            None => slurm::sacct(midnight(day)?, midnight(next)?, &offered, None),
            Some(columns) => sacct_of(day, next, columns),
        };
        machine.run(&command, &mut |piece| {
            if written.is_ok() {
                written = file.write_all(piece);
            }
        })?;
        written?;
        file.flush()?;
        day = next;
    }
    Ok(())
}

/// Asks for some columns, and for nothing else that is not usual.
fn sacct_of(start: Date, end: Date, columns: &str) -> Command {
    Command {
        program: "sacct",
        arguments: vec![
            "--allusers".to_owned(),
            "--parsable2".to_owned(),
            "--delimiter=\x1f".to_owned(),
            format!("--starttime={start}"),
            format!("--endtime={end}"),
            format!("--format={columns}"),
        ],
        time_limit: Duration::from_secs(600),
    }
}

fn slots(folder: &Path, machines: u32, looks: u32) -> Result<()> {
    fs::create_dir_all(folder)?;
    let start = midnight(Date::constant(2026, 3, 2))?;
    let scale = Scale {
        seed: 1,
        start,
        end: start + SignedDuration::from_hours(24),
        slurm_jobs_per_day: 1,
        slurm_nodes: 1,
        condor_machines: machines,
    };
    let site = Arc::new(Site::new(&scale));
    for look in 0..looks {
        let now = start + SignedDuration::from_mins(12 * 60 + 5 * i64::from(look));
        let cluster = Site::condor_pool().to_owned();
        let machine = Simulated { site: site.clone(), cluster, now };
        let mut text = Vec::new();
        machine.run(&htcondor::condor_status(), &mut |piece| text.extend_from_slice(piece))?;
        fs::write(folder.join(format!("{look:02}.json")), text)?;
    }
    Ok(())
}

/// Of a workday at noon, when there is most to do. A job that runs is known until it is asked about,
/// so all times are moved until the last look is now.
fn cycles(folder: &Path, nodes: u32, jobs: u32, looks: u32, now: Timestamp) -> Result<()> {
    fs::create_dir_all(folder)?;
    let start = midnight(Date::constant(2026, 3, 2))?;
    let last = start + SignedDuration::from_hours(36);
    let later = now.duration_since(last).as_secs();
    let scale = Scale {
        seed: 1,
        start,
        end: start + SignedDuration::from_hours(48),
        slurm_jobs_per_day: jobs,
        slurm_nodes: nodes,
        condor_machines: 1,
    };
    let site = Arc::new(Site::new(&scale));
    for look in 0..looks {
        let now = last - SignedDuration::from_mins(5 * i64::from(looks - 1 - look));
        let cluster = Site::slurm_cluster().to_owned();
        let machine = Simulated { site: site.clone(), cluster, now };
        let print = |name: &str, command: &Command| -> Result<Vec<u8>> {
            let mut text = Vec::new();
            machine.run(command, &mut |piece| text.extend_from_slice(piece))?;
            fs::write(folder.join(format!("{look:02}-{name}")), moved(&text, later))?;
            Ok(text)
        };
        let offered = Offered::read(&print("fields", &slurm::sacct_fields())?)?;
        print("nodes", &slurm::scontrol_show_node(None))?;
        print("jobs", &slurm::scontrol_show_job(None))?;
        print("queue", &slurm::squeue(None))?;
        // The first asks for all that there is, the others from as long before the look before as
        // accounting may be late.
        let since = match look {
            0 => start,
            _ => now - lake::LAG - SignedDuration::from_mins(5),
        };
        print("accounts", &slurm::sacct(since, now, &offered, None))?;
    }
    Ok(())
}

/// A text with its moments so many seconds later. They are the only numbers in it that have ten digits
/// and begin alike.
fn moved(text: &[u8], seconds: i64) -> Vec<u8> {
    let mut moved = Vec::with_capacity(text.len());
    for word in text.chunk_by(|one, other| one.is_ascii_digit() == other.is_ascii_digit()) {
        let is_moment = word.len() == 10 && word.starts_with(b"177");
        let moment = std::str::from_utf8(word).ok().filter(|_| is_moment);
        match moment.and_then(|moment| moment.parse::<i64>().ok()) {
            Some(moment) => moved.extend((moment + seconds).to_string().bytes()),
            None => moved.extend_from_slice(word),
        }
    }
    moved
}

async fn rewrite(data_dir: &Path, cluster: &str) -> Result<()> {
    let lake = Lake::open(data_dir)?;
    let files = lake.files(&Job::TABLE, &lake.trackers().await?).await?;
    for file in files.iter().filter(|file| file.cluster == cluster) {
        let jobs: Vec<Job> = lake.read(cluster, &file.meta.location).await?;
        fs::remove_file(data_dir.join(file.meta.location.as_ref()))?;
        let mut writer = lake.writer(cluster).await?;
        writer.upsert(&jobs).await?;
        writer.finish().await?;
    }
    Ok(())
}

async fn ingest(folder: &Path, data_dir: &Path, asked: Date) -> Result<()> {
    let lake = Lake::create(data_dir)?;
    let mut writer = lake.writer(Site::slurm_cluster()).await?;
    let mut files: Vec<_> = fs::read_dir(folder)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()?;
    files.sort();
    let now = midnight(asked)?;
    let (mut lines, mut jobs) = (0, 0);
    let mut piece = vec![0; 256 * 1024];
    let mut earlier: Vec<Job> = Vec::new();
    // The last day first, as `plimsoll collect` does, so that each file is written once.
    for path in files.iter().rev() {
        let start = midnight(day_of(path)?)?;
        let mut parser = Sacct::new(Site::slurm_cluster(), now);
        let mut file = File::open(path)?;
        loop {
            let length = file.read(&mut piece)?;
            if length == 0 {
                break;
            }
            lines += piece[..length].iter().filter(|byte| **byte == b'\n').count();
            parser.push(&piece[..length]);
        }
        let parsed = parser.finish();
        if !parsed.rejects.is_empty() {
            bail!("{} rejects, such as {:?}", parsed.rejects.len(), parsed.rejects[0]);
        }
        let is_due = |job: &Job| job.submit_time >= start;
        let due = parsed.records.iter().chain(&earlier).filter(|job| is_due(job));
        jobs += writer.upsert(due).await?.added;
        earlier.retain(|job| !is_due(job));
        earlier.extend(parsed.records.into_iter().filter(|job| !is_due(job)));
    }
    jobs += writer.upsert(&earlier).await?.added;
    writer.finish().await?;
    std::io::stdout().write_all(format!("{lines} {jobs}\n").as_bytes())?;
    Ok(())
}

fn day_of(path: &Path) -> Result<Date> {
    let name = path.file_stem().and_then(|stem| stem.to_str()).context("a file without a name")?;
    name.parse().with_context(|| format!("{} is not named for a day", path.display()))
}
