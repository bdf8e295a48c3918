//! The steps of a job, from what was archived of its scheduler: the lake keeps none.

use anyhow::Result;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use lake::Lake;
use report::{Column, Coverage, Period, Report, Table, Unit, Value};
use serve::{FindSteps, JobRun};
use source::slurm::{Step, Steps};

use crate::config::{Config, Kind};

/// No more of the archive is read for a job.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// What finds steps, where a cluster has any.
pub(super) fn finder(config: &Config, lake: &Lake) -> FindSteps {
    let is_slurm = |cluster: &&crate::config::Cluster| cluster.kind == Kind::Slurm;
    let slurm: Vec<String> =
        config.clusters.iter().filter(is_slurm).map(|cluster| cluster.name.clone()).collect();
    // Without a configuration it is not known which clusters have steps; the archive is.
    let is_anybodys_guess = config.path.is_none();
    let (lake, zone) = (lake.clone(), config.zone.clone());
    Box::new(move |run| {
        let (lake, zone) = (lake.clone(), zone.clone());
        let has_steps = is_anybodys_guess || slurm.contains(&run.cluster);
        Box::pin(async move {
            if !has_steps {
                return Ok(Err("Jobs of this cluster have no steps.".to_owned()));
            }
            Ok(match find(&lake, &run).await? {
                Looked::Found(steps, time) => Ok(report(&steps, time, zone)),
                Looked::NotThere => {
                    Err("What sacct said of that day is no longer in the archive (raw/)."
                        .to_owned())
                }
                Looked::NotFound => Err("The archive does not say what it was made of.".to_owned()),
            })
        })
    })
}

enum Looked {
    /// The steps, and when sacct said so.
    Found(Vec<Step>, Timestamp),
    NotFound,
    /// There is nothing of those days.
    NotThere,
}

/// What sacct last said of a run: a job is told of on the day on which it ended, or was last seen.
async fn find(lake: &Lake, run: &JobRun) -> Result<Looked> {
    let (mut left, mut is_there) = (MOST_BYTES, false);
    for day in days(run) {
        for (path, bytes) in lake.archived_about("sacct", &run.cluster, day).await? {
            is_there = true;
            left = left.saturating_sub(bytes);
            if left == 0 {
                return Ok(Looked::NotFound);
            }
            for frame in lake.frames(&path).await?.iter().rev() {
                let (frame, job_id) = (frame.clone(), run.job_id.clone());
                // A day of a large site takes a while to go through.
                let read = tokio::task::spawn_blocking(move || {
                    let mut steps = Steps::of(&job_id);
                    let asked = lake::replay(&frame, &mut |piece| steps.push(piece))?;
                    anyhow::Ok((steps.finish(), asked.time))
                });
                if let (Some(steps), time) = read.await?? {
                    return Ok(Looked::Found(steps, time));
                }
            }
        }
    }
    Ok(if is_there { Looked::NotFound } else { Looked::NotThere })
}

/// The days on which sacct may have told of a run, the likeliest first.
fn days(run: &JobRun) -> Vec<Date> {
    let day = |time: Timestamp| time.to_zoned(TimeZone::UTC).date();
    let last = day(run.last_time);
    let mut days = vec![last];
    days.extend(last.checked_add(1.day()).ok());
    if !days.contains(&day(run.start_time)) {
        days.push(day(run.start_time));
    }
    days
}

fn report(steps: &[Step], time: Timestamp, zone: TimeZone) -> Report {
    let column = |name: &str, heading: &str, unit| Column {
        name: name.to_owned(),
        heading: heading.to_owned(),
        unit,
    };
    Report {
        name: "steps".to_owned(),
        title: "What was the job made of?".to_owned(),
        period: Period { start: time, end: time, zone },
        coverage: Coverage::default(),
        table: Table {
            columns: vec![
                column("step", "Step", Unit::Label),
                column("step_name", "Name", Unit::Label),
                column("state", "State", Unit::Label),
                column("start_time", "Started", Unit::Time),
                column("elapsed_seconds", "Ran", Unit::Duration),
                column("tasks", "Tasks", Unit::Count),
                column("cpus", "CPUs", Unit::Count),
                column("cpu_efficiency", "CPU eff. %", Unit::Percent),
                column("cpu_seconds", "CPU time", Unit::Duration),
                column("memory_bytes", "Memory of the largest task", Unit::Bytes),
                column("node_list", "Nodes", Unit::Label),
            ],
            rows: steps.iter().map(row).collect(),
        },
        charts: Vec::new(),
        notes: vec![
            "As sacct last told of it, from the archive. What a step that still runs used is not known."
                .to_owned(),
        ],
    }
}

fn row(step: &Step) -> Vec<Value> {
    let text = |text: Option<&record::Text>| {
        text.map_or(Value::Unknown, |text| Value::Text(text.to_string()))
    };
    let count = |count: Option<i64>| count.map_or(Value::Unknown, Value::Integer);
    let number = |number: Option<f64>| number.map_or(Value::Unknown, Value::Number);
    // Only steps that are over are accounted for.
    let cpu_seconds = step.cpu_seconds.filter(|_| step.end_time.is_some());
    let held_seconds = step.elapsed_seconds.zip(step.cpus).map(|(time, cpus)| (time * cpus) as f64);
    let efficiency = cpu_seconds.zip(held_seconds.filter(|held| *held > 0.0));
    vec![
        text(Some(&step.step)),
        text(step.step_name.as_ref()),
        text(Some(&step.state)),
        step.start_time.map_or(Value::Unknown, Value::Time),
        count(step.elapsed_seconds),
        count(step.tasks),
        count(step.cpus),
        number(efficiency.map(|(used, held)| 100.0 * used / held)),
        number(cpu_seconds),
        number(
            step.max_rss_mb
                .filter(|_| step.end_time.is_some())
                .map(|mebibytes| mebibytes * 1_048_576.0),
        ),
        text(step.node_list.as_ref()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_looked_for_on_the_day_of_its_end_first() {
        let check = |start: &str, last: &str, expected: &[&str]| {
            let run = JobRun {
                cluster: "maple".to_owned(),
                job_id: "12".to_owned(),
                start_time: start.parse().unwrap(),
                last_time: last.parse().unwrap(),
            };
            let days: Vec<String> = days(&run).iter().map(ToString::to_string).collect();
            assert_eq!(days, expected);
        };
        let end = "2026-03-06T10:00:00Z";
        check("2026-03-06T01:00:00Z", end, &["2026-03-06", "2026-03-07"]);
        check("2026-03-02T01:00:00Z", end, &["2026-03-06", "2026-03-07", "2026-03-02"]);
    }

    #[test]
    fn what_a_step_used_is_known_when_it_is_over() {
        let over = Step {
            step: "0".into(),
            step_name: None,
            state: "COMPLETED".into(),
            start_time: None,
            end_time: Some(Timestamp::UNIX_EPOCH),
            elapsed_seconds: Some(100),
            tasks: Some(1),
            cpus: Some(4),
            cpu_seconds: Some(300.0),
            max_rss_mb: Some(2.0),
            node_list: None,
        };
        // 300 s of 4 times 100 s.
        let shown = row(&over);
        assert_eq!(
            shown[7..10],
            [Value::Number(75.0), Value::Number(300.0), Value::Number(2_097_152.0)]
        );
        let running = Step { end_time: None, ..over };
        assert_eq!(row(&running)[7..10], [Value::Unknown, Value::Unknown, Value::Unknown]);
    }
}
