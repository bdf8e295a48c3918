//! `job_pressure`: the jobs that waited for GPUs.
//!
//! Until May 2026 a row was one job at one look; since then it is a time for which a job was seen
//! to wait, from `first_seen` to `last_seen`.

use std::collections::BTreeSet;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use record::{QueueSpan, Text};

use super::missing;
use super::wall_clock::WallClock;
use crate::htcondor::job_id;
use crate::{Parsed, Rejected};

/// A time for which a job was seen to wait. Its span is of no length when it comes out of a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Waited {
    pub first: Timestamp,
    pub last: Timestamp,
    span: QueueSpan,
}

/// Reads the rows of one file.
pub struct JobPressure {
    cluster: String,
    clock: WallClock,
    /// What the clock last showed, and when that was.
    shown: Option<(String, Timestamp)>,
    rejected: Parsed<()>,
    rows: u64,
}

const COLUMNS: [&str; 10] = [
    "timestamp",
    "first_seen",
    "last_seen",
    "GlobalJobId",
    "Owner",
    "RequestGPUs",
    "RequestCPUs",
    "RequestMemory",
    "QDate",
    "ChtcProjects",
];

impl JobPressure {
    /// Reads times as a clock in this zone showed them.
    pub fn new(cluster: impl Into<String>, zone: TimeZone) -> JobPressure {
        JobPressure {
            cluster: cluster.into(),
            clock: WallClock::new(zone),
            shown: None,
            rejected: Parsed::default(),
            rows: 0,
        }
    }

    /// The column that a file lacks if it is none of gpureports.
    pub fn missing_column(names: &[String]) -> Option<&'static str> {
        missing(names, &["GlobalJobId"]).or_else(|| {
            missing(names, &["timestamp"])
                .and_then(|_| missing(names, &["first_seen", "last_seen"]))
        })
    }

    /// Takes some rows: the names of their columns, how many, and their cells.
    pub fn add<'a>(
        &mut self,
        names: &[String],
        rows: usize,
        cell: impl Fn(usize, usize) -> Option<&'a str>,
    ) -> Vec<Waited> {
        let places = COLUMNS.map(|name| names.iter().position(|known| known == name));
        let mut waited = Vec::with_capacity(rows);
        for row in 0..rows {
            self.rows += 1;
            let cells = places.map(|place| place.and_then(|place| cell(row, place)));
            match self.row(&cells) {
                Ok(row) => waited.push(row),
                Err(reason) => {
                    let text: Vec<String> = COLUMNS
                        .iter()
                        .zip(cells)
                        .filter_map(|(name, cell)| cell.map(|cell| format!("{name}={cell}")))
                        .collect();
                    self.rejected.reject(self.rows, reason, text.join(" ").as_bytes());
                }
            }
        }
        waited
    }

    /// How many rows came.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Takes away the rows that could not be read.
    pub fn take_rejects(&mut self) -> Vec<Rejected> {
        std::mem::take(&mut self.rejected.rejects)
    }

    fn row(&mut self, cells: &[Option<&str>; COLUMNS.len()]) -> Result<Waited, String> {
        let [timestamp, first, last, id, owner, gpus, cpus, memory, submitted, projects] = *cells;
        let words = |cell: Option<&str>| {
            cell.map(str::trim).filter(|text| !text.is_empty()).map(Text::from)
        };
        let id = words(id).ok_or("the row names no job")?;
        let (first, last) = match timestamp {
            Some(shown) => {
                let time = self.time(shown)?;
                (time, time)
            }
            None => (seconds(first)?, seconds(last)?),
        };
        if last < first {
            return Err("it was last seen before it was first seen".to_owned());
        }
        // 0 is written for what the job does not say.
        let number = |cell: Option<&str>| {
            cell.and_then(|text| text.parse().ok()).filter(|number: &f64| *number > 0.0)
        };
        let span = QueueSpan {
            cluster: self.cluster.clone().into(),
            job_id: job_id(&id).into(),
            start_time: first,
            end_time: first,
            last_seen_time: last,
            // It was seen at both ends; how often between them is not written.
            samples: 1 + i64::from(first < last),
            user: words(owner),
            account: words(projects),
            partition: None,
            qos: None,
            state: "IDLE".into(),
            reason: None,
            submit_time: seconds(submitted).ok(),
            eligible_time: None,
            tasks: Some(1),
            req_nodes: None,
            req_cpus: number(cpus).map(|cpus| cpus as i64),
            req_mem_mb: number(memory),
            req_gpus: number(gpus).map(|gpus| gpus as i64),
            gpu_types: None,
            time_limit_seconds: None,
        };
        Ok(Waited { first, last, span })
    }

    fn time(&mut self, shown: &str) -> Result<Timestamp, String> {
        match &self.shown {
            Some((last, time)) if last == shown => Ok(*time),
            _ => {
                let time = self.clock.moment(shown)?;
                self.shown = Some((shown.to_owned(), time));
                Ok(time)
            }
        }
    }
}

impl Waited {
    /// Goes on with what was seen of the same job later, if it is not too long after; gives it back
    /// if it is.
    pub fn join(&mut self, later: Waited, hold: SignedDuration) -> Option<Waited> {
        let same = QueueSpan {
            start_time: later.span.start_time,
            end_time: later.span.end_time,
            last_seen_time: later.span.last_seen_time,
            samples: later.span.samples,
            ..self.span.clone()
        };
        let goes_on = later.first <= self.last.checked_add(hold).unwrap_or(Timestamp::MAX);
        if !goes_on || later.first < self.first || same != later.span {
            return Some(later);
        }
        self.last = self.last.max(later.last);
        self.span.last_seen_time = self.last;
        self.span.samples += later.span.samples;
        None
    }

    /// The job, without the time of its submission.
    pub fn job_id(&self) -> &str {
        &self.span.job_id
    }
}

/// The spans of a job's wait, cut at each midnight of UTC: it holds until the next look at the
/// queue, and for no longer than a look may hold. `looks` are all times at which something was seen.
pub fn queue_spans(
    waited: &Waited,
    looks: &BTreeSet<Timestamp>,
    hold: SignedDuration,
) -> Vec<QueueSpan> {
    use std::ops::Bound::{Excluded, Unbounded};
    let until = waited.last.checked_add(hold).unwrap_or(Timestamp::MAX);
    let next = looks.range((Excluded(waited.last), Unbounded)).next();
    let end = next.copied().unwrap_or(until).min(until);
    let mut spans = Vec::new();
    let mut start = waited.first;
    while start < end {
        let day = start.to_zoned(TimeZone::UTC).date();
        let midnight = day
            .tomorrow()
            .and_then(|day| day.to_zoned(TimeZone::UTC))
            .map_or(end, |midnight| midnight.timestamp());
        let part_end = end.min(midnight);
        let is_last = waited.last < part_end;
        // Of a day that it waited through, the last look is the last that saw it.
        let last_seen = if is_last {
            waited.last
        } else {
            looks.range(..part_end).next_back().map_or(start, |look| start.max(*look))
        };
        let seen = i64::from(start == waited.first)
            + i64::from(is_last && waited.first < waited.last && start <= waited.last);
        let whole = start == waited.first && part_end == end;
        spans.push(QueueSpan {
            start_time: start,
            end_time: part_end,
            last_seen_time: last_seen,
            samples: if whole { waited.span.samples } else { seen },
            ..waited.span.clone()
        });
        start = part_end;
    }
    spans
}

fn seconds(cell: Option<&str>) -> Result<Timestamp, String> {
    let text = cell.ok_or("the row has no time")?;
    let seconds: f64 = text.parse().map_err(|_| format!("{text:?} is no time"))?;
    if seconds <= 0.0 {
        return Err(format!("{text:?} is no time"));
    }
    Timestamp::from_second(seconds as i64).map_err(|_| format!("{text:?} is no time"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVALS: &str = "GlobalJobId ScheddName Owner RequestGPUs RequestCPUs RequestMemory \
        RequestGPUMemory QDate ChtcProjects first_seen last_seen";
    const LOOKS: &str = "timestamp GlobalJobId ScheddName Owner RequestGPUs RequestCPUs \
        RequestMemory RequestGPUMemory QDate";

    fn read(names: &str, rows: &[&str]) -> (Vec<Waited>, Vec<Rejected>) {
        let names: Vec<String> = names.split_whitespace().map(str::to_owned).collect();
        assert_eq!(JobPressure::missing_column(&names), None);
        let rows: Vec<Vec<&str>> = rows.iter().map(|row| row.split(' ').collect()).collect();
        let mut file = JobPressure::new("chtc", TimeZone::get("America/Chicago").unwrap());
        let cell = |row: usize, column: usize| Some(rows[row][column]).filter(|cell| *cell != "_");
        let waited = file.add(&names, rows.len(), cell);
        (waited, file.take_rejects())
    }

    fn shown(spans: &[QueueSpan]) -> Vec<String> {
        spans
            .iter()
            .map(|span| {
                format!(
                    "{} {}..{} seen {} {}x",
                    span.job_id, span.start_time, span.end_time, span.last_seen_time, span.samples
                )
            })
            .collect()
    }

    /// 1777593600 is 2026-05-01T00:00:00Z.
    #[test]
    fn a_time_of_waiting_is_cut_at_midnight_and_holds_until_the_next_look() {
        let (waited, rejects) = read(
            INTERVALS,
            &[
                "ap1#7.0#1777500000 ap1 ann 2.0 4.0 8192.0 _ 1777500000 Lab 1777592700 1777594200",
                "ap1#8.0#0 ap1 bob 0.0 0.0 0.0 _ 0 _ 1777594200 1777594200",
                "_ ap1 bob 1.0 1.0 1.0 _ 0 _ 1777594200 1777594200",
                "ap1#9.0#0 ap1 bob 1.0 1.0 1.0 _ 0 _ 1777594200 1777594100",
            ],
        );
        assert_eq!(
            rejects.iter().map(|reject| (reject.position, &*reject.reason)).collect::<Vec<_>>(),
            [(3, "the row names no job"), (4, "it was last seen before it was first seen")]
        );
        let ann = &waited[0].span;
        assert_eq!((ann.user.as_deref(), ann.account.as_deref()), (Some("ann"), Some("Lab")));
        assert_eq!((ann.req_gpus, ann.req_cpus, ann.req_mem_mb), (Some(2), Some(4), Some(8192.0)));
        assert_eq!(ann.submit_time.unwrap().as_second(), 1777500000);
        // 0 is what a job does not say.
        let bob = &waited[1].span;
        assert_eq!((bob.req_gpus, bob.req_mem_mb, bob.submit_time), (None, None, None));

        // 23:45, 00:10 and 00:12: 00:10 is the last look at job 7, 00:12 one at others.
        let looks: BTreeSet<Timestamp> = [1777592700, 1777594200, 1777594320]
            .map(|second| Timestamp::from_second(second).unwrap())
            .into();
        let hold = SignedDuration::from_mins(10);
        assert_eq!(
            shown(&queue_spans(&waited[0], &looks, hold)),
            [
                "ap1#7.0 2026-04-30T23:45:00Z..2026-05-01T00:00:00Z seen 2026-04-30T23:45:00Z 1x",
                "ap1#7.0 2026-05-01T00:00:00Z..2026-05-01T00:12:00Z seen 2026-05-01T00:10:00Z 1x",
            ]
        );
        // Nobody looked again: it holds for ten minutes.
        assert_eq!(
            shown(&queue_spans(&waited[1], &BTreeSet::new(), hold)),
            ["ap1#8.0 2026-05-01T00:10:00Z..2026-05-01T00:20:00Z seen 2026-05-01T00:10:00Z 1x"]
        );
    }

    #[test]
    fn looks_at_one_job_become_one_wait_until_it_is_missed() {
        let (waited, rejects) = read(
            LOOKS,
            &[
                "2026-04-21T10:00:00.5 ap1#7.0#1 ap1 ann 1.0 1.0 1.0 _ 1",
                "2026-04-21T10:05:00.5 ap1#7.0#1 ap1 ann 1.0 1.0 1.0 _ 1",
                "2026-04-21T10:30:00.5 ap1#7.0#1 ap1 ann 1.0 1.0 1.0 _ 1",
                "2026-04-21T10:35:00.5 ap1#7.0#1 ap1 ann 2.0 1.0 1.0 _ 1",
            ],
        );
        assert_eq!(rejects, []);
        let hold = SignedDuration::from_mins(10);
        let mut rows = waited.into_iter();
        let mut first = rows.next().unwrap();
        assert_eq!(first.join(rows.next().unwrap(), hold), None);
        assert_eq!(first.first.to_string(), "2026-04-21T15:00:00.5Z");
        assert_eq!(first.last.to_string(), "2026-04-21T15:05:00.5Z");
        // 25 minutes later it waits anew; and one that asks for more is another wait.
        let mut second = first.join(rows.next().unwrap(), hold).unwrap();
        assert!(second.join(rows.next().unwrap(), hold).is_some());
        let spans = queue_spans(&first, &BTreeSet::new(), hold);
        assert_eq!(
            shown(&spans),
            [
                "ap1#7.0 2026-04-21T15:00:00.5Z..2026-04-21T15:15:00.5Z seen 2026-04-21T15:05:00.5Z 2x"
            ]
        );
    }
}
