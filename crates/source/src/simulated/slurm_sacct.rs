//! Prints the simulated cluster's accounting as `sacct` does.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use super::arguments::{Arguments, Known, flag, value};
use super::slurm_attempt::{Attempt, Part, State};
use super::slurm_cluster::SlurmCluster;
use super::slurm_sacct_columns::{Column, fields};
use super::slurm_sacct_row::{Row, RowKind};
use super::slurm_usage::{Measured, Usage};
use super::text::Output;
use super::{Moment, NEVER, SLURM_CLUSTER, moment};
use crate::machine::{Command, Failure};

const OPTIONS: [Known; 13] = [
    flag(&["--helpformat", "-e"]),
    flag(&["--local"]),
    value(&["--clusters", "-M"]),
    flag(&["--allusers", "-a"]),
    flag(&["--allocations", "-X"]),
    flag(&["--duplicates", "-D"]),
    flag(&["--noconvert"]),
    flag(&["--parsable2", "-P"]),
    flag(&["--noheader", "-n"]),
    value(&["--delimiter"]),
    value(&["--starttime", "-S"]),
    value(&["--endtime", "-E"]),
    value(&["--format", "-o"]),
];

pub(super) fn sacct(
    cluster: &SlurmCluster,
    now: Moment,
    command: &Command,
    sink: &mut dyn FnMut(&[u8]),
) -> Result<(), Failure> {
    let arguments = Arguments::of(command, &OPTIONS)?;
    if arguments.has("--helpformat") {
        sink(fields().as_bytes());
        return Ok(());
    }
    if !arguments.has("--parsable2") {
        return Err(
            arguments.failure("sacct: error: this simulated site prints only with --parsable2")
        );
    }
    let columns = columns(&arguments)?;
    let delimiter = arguments.get("--delimiter").unwrap_or("|").as_bytes();
    let from = time(&arguments, "--starttime", now)?.unwrap_or(now / super::DAY * super::DAY);
    let until = time(&arguments, "--endtime", now)?.unwrap_or(now);

    let mut output = Output::new(sink);
    if !arguments.has("--noheader") {
        let names: Vec<&[u8]> = columns.iter().map(|column| column.name().as_bytes()).collect();
        output.text.extend_from_slice(&names.join(delimiter));
        output.text.push(b'\n');
    }
    // One that slurmdbd does not know has no jobs, which is no mistake.
    if arguments.get("--clusters").is_some_and(|name| name != SLURM_CLUSTER) {
        output.finish();
        return Ok(());
    }
    let asked = Asked {
        now,
        from,
        until,
        with_duplicates: arguments.has("--duplicates"),
        converts: !arguments.has("--noconvert"),
    };
    let with_steps = !arguments.has("--allocations");
    for rows in asked.rows(cluster) {
        rows.print(cluster, &columns, delimiter, with_steps, &mut output.text);
        output.flow();
    }
    output.finish();
    Ok(())
}

/// Which rows are wanted, and how.
struct Asked {
    now: Moment,
    from: Moment,
    until: Moment,
    with_duplicates: bool,
    converts: bool,
}

impl Asked {
    /// The attempts that overlap the window, as they stand now; tasks that wait together are one.
    fn rows<'a>(&self, cluster: &'a SlurmCluster) -> impl Iterator<Item = Rows<'a>> {
        let candidates = cluster.alive.between(self.from.min(self.now), self.until.min(self.now));
        let mut at = 0;
        std::iter::from_fn(move || {
            while let Some(&index) = candidates.get(at) {
                at += 1;
                let attempt = &cluster.attempts[index as usize];
                let Some(state) = attempt.state_at(self.now) else { continue };
                if !self.shows(attempt) {
                    continue;
                }
                let mut last = attempt;
                if matches!(state, State::Pending | State::CancelledWaiting) {
                    while let Some(&next) = candidates.get(at) {
                        let next = &cluster.attempts[next as usize];
                        if !last.waits_with(next)
                            || next.state_at(self.now) != Some(state)
                            || next.end != last.end && state == State::CancelledWaiting
                        {
                            break;
                        }
                        last = next;
                        at += 1;
                    }
                }
                let (now, converts) = (self.now, self.converts);
                return Some(Rows { attempt, last, state, now, converts });
            }
            None
        })
    }

    fn shows(&self, attempt: &Attempt) -> bool {
        let has_ended = attempt.end <= self.now;
        // The condition of as_mysql_jobacct_process.c: eligible before the end of the window, and
        // not ended before its start. Who never was eligible is not found.
        attempt.is_eligible_known(self.now)
            && attempt.eligible < self.until
            && (!has_ended || attempt.end >= self.from && attempt.eligible <= attempt.end)
            && (self.with_duplicates || !(has_ended && attempt.requeued))
    }
}

/// A job's row and its steps behind it.
pub(super) struct Rows<'a> {
    pub(super) attempt: &'a Attempt,
    /// Of tasks that wait together.
    pub(super) last: &'a Attempt,
    pub(super) state: State,
    pub(super) now: Moment,
    /// Whether memory is shown in units that make it short.
    pub(super) converts: bool,
}

impl Rows<'_> {
    fn print(
        &self,
        cluster: &SlurmCluster,
        columns: &[Column],
        delimiter: &[u8],
        with_steps: bool,
        out: &mut Vec<u8>,
    ) {
        let has_started = self.attempt.start < NEVER && self.state != State::Pending;
        let has_ended = !matches!(self.state, State::Pending | State::Running);
        let usage = if has_ended { Usage::of(self.attempt) } else { None };
        let mut print = |kind, measured| {
            let row = Row { rows: self, cluster, kind, measured };
            for (index, column) in columns.iter().enumerate() {
                if index > 0 {
                    out.extend_from_slice(delimiter);
                }
                row.cell(*column, out);
            }
            out.push(b'\n');
        };
        // The job's row has the sum of the CPU time, and no memory.
        let job = usage.map(|usage| Measured {
            cpu_milliseconds: usage.cpu_milliseconds(),
            resident_pages: None,
        });
        print(RowKind::Job, job);
        if has_started && with_steps {
            if !matches!(self.attempt.part, Part::Component { offset: 1, .. }) {
                print(RowKind::Batch, usage.and_then(|usage| usage.batch));
            }
            print(RowKind::External, usage.map(|usage| usage.external));
            if self.attempt.has_step {
                print(RowKind::Step, usage.and_then(|usage| usage.step));
            }
        }
    }
}

/// A time as `2026-11-15T09:00:00`, `now` or `now-6hours`.
fn time(arguments: &Arguments, option: &str, now: Moment) -> Result<Option<Moment>, Failure> {
    let Some(text) = arguments.get(option) else { return Ok(None) };
    let hours = |text: &str| text.strip_prefix("now-")?.strip_suffix("hours")?.parse().ok();
    if let Some(hours) = (text == "now").then_some(0).or_else(|| hours(text)) {
        return Ok(Some(now.saturating_sub(3600_u32.saturating_mul(hours))));
    }
    let parsed = text.parse::<DateTime>().and_then(|time| time.to_zoned(TimeZone::UTC));
    match parsed {
        Ok(time) => Ok(Some(moment(time.timestamp()))),
        Err(_) => {
            Err(arguments
                .failure(format!("sacct: error: Invalid time specification (pos=0): {text}")))
        }
    }
}

fn columns(arguments: &Arguments) -> Result<Vec<Column>, Failure> {
    let asked =
        arguments.get("--format").unwrap_or("JobID,JobName,Partition,Account,State,ExitCode");
    asked
        .split(',')
        .map(|name| {
            Column::ALL
                .into_iter()
                .find(|column| column.name().eq_ignore_ascii_case(name))
                .ok_or_else(|| {
                    arguments.failure(format!("sacct: error: Invalid field requested: \"{name}\""))
                })
        })
        .collect()
}
