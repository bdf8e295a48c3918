//! slurm-usage: a folder of days, `raw/2025-08-14.parquet` with what `sacct` printed and
//! `processed/2025-08-14.parquet` with what was made of it.
//!
//! Both are turned back into the text of `sacct`, so that one parser reads all jobs and the
//! archive holds one kind of text. The cells come as text from whoever reads the files: Parquet
//! is not known here.
//!
//! slurm-usage wrote times as the clock on its wall said them; the early versions as text, the
//! later ones as moments that claim to be UTC. Either way they mean the zone of its machine.

use std::collections::{BTreeMap, HashSet};

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Timestamp, tz};

use crate::slurm::DELIMITER;

/// Turns the days of `raw/` into text for [`Sacct`](crate::slurm::Sacct), in the order of their
/// dates.
///
/// A row lies on the day on which it started, so a step may lie on a later day than its job: a
/// job is held back until the day of its end.
pub struct RawDays {
    zone: TimeZone,
    held: BTreeMap<String, Group>,
    /// Jobs that were printed while they still ran: their later steps say nothing.
    still_ran: HashSet<String>,
}

/// A job and its steps, as they are printed.
#[derive(Default)]
struct Group {
    job: Option<Vec<u8>>,
    job_id: String,
    steps: Vec<u8>,
    end_day: Option<Date>,
}

/// The columns that are printed, the name last: it may hold anything.
const COLUMNS: [&str; 30] = [
    "JobID",
    "JobIDRaw",
    "User",
    "UID",
    "Group",
    "Account",
    "Partition",
    "QOS",
    "State",
    "ExitCode",
    "Submit",
    "Eligible",
    "Start",
    "End",
    "ElapsedRaw",
    "TimelimitRaw",
    "AllocNodes",
    "AllocCPUS",
    "AllocTRES",
    "ReqNodes",
    "ReqCPUS",
    "ReqMem",
    "ReqTRES",
    "NodeList",
    "NTasks",
    "MaxRSS",
    "TotalCPU",
    "ConsumedEnergyRaw",
    "Reason",
    "JobName",
];
const JOB_ID: usize = 0;
const JOB_ID_RAW: usize = 1;
const SUBMIT: usize = 10;
const ELIGIBLE: usize = 11;
const START: usize = 12;
const END: usize = 13;

impl RawDays {
    /// Reads times as a clock in this zone showed them.
    pub fn new(zone: TimeZone) -> RawDays {
        RawDays { zone, held: BTreeMap::new(), still_ran: HashSet::new() }
    }

    /// Takes some rows of a day's file: the names of its columns, how many rows, and their cells.
    pub fn add<'a>(
        &mut self,
        names: &[String],
        rows: usize,
        cell: impl Fn(usize, usize) -> Option<&'a str>,
    ) {
        let places = COLUMNS.map(|name| names.iter().position(|known| known == name));
        for row in 0..rows {
            self.add_row(places.map(|place| place.and_then(|place| cell(row, place))));
        }
    }

    fn add_row(&mut self, cells: [Option<&str>; COLUMNS.len()]) {
        let job_id = cells[JOB_ID].unwrap_or_default();
        let raw_id = cells[JOB_ID_RAW].unwrap_or(job_id);
        let is_step = job_id.contains('.');
        let id = raw_id.split('.').next().unwrap_or(raw_id);
        if is_step && self.still_ran.contains(id) {
            return;
        }
        let printed = self.times_read(cells);
        let group = self.held.entry(id.to_owned()).or_default();
        if is_step {
            print(&printed, &mut group.steps);
        } else {
            let mut line = Vec::new();
            print(&printed, &mut line);
            group.job = Some(line);
            job_id.clone_into(&mut group.job_id);
            group.end_day = cells[END].and_then(wall_clock).map(DateTime::date);
        }
    }

    /// Ends a day: the text of the jobs of which everything was seen, if there are any. `next` is
    /// the day of the next file; without one, all that is left comes.
    pub fn end_day(&mut self, next: Option<Date>) -> Option<Vec<u8>> {
        let mut text = COLUMNS.join(&DELIMITER.to_string()).into_bytes();
        text.push(b'\n');
        let header = text.len();
        let mut held = BTreeMap::new();
        for (id, group) in std::mem::take(&mut self.held) {
            let later_steps = group.end_day.zip(next).is_some_and(|(end, next)| end >= next);
            if group.job.is_some() && later_steps {
                held.insert(id, group);
                continue;
            }
            text.extend(group.job.as_deref().unwrap_or_default());
            text.extend(&group.steps);
            if group.job.is_some() && group.end_day.is_none() {
                self.still_ran.insert(id);
            }
        }
        self.held = held;
        (text.len() > header).then_some(text)
    }

    /// The ids of jobs that wait for the day of their end.
    pub fn held_job_ids(&self) -> HashSet<String> {
        let jobs = self.held.values().filter(|group| group.job.is_some());
        jobs.map(|group| group.job_id.clone()).collect()
    }

    /// A row with its moments as seconds since the epoch.
    fn times_read(&self, cells: [Option<&str>; COLUMNS.len()]) -> Vec<Option<String>> {
        let mut row: Vec<Option<String>> =
            cells.iter().map(|cell| cell.map(str::to_owned)).collect();
        let start = cells[START].and_then(|text| moment(text, &self.zone));
        for index in [SUBMIT, ELIGIBLE, START, END] {
            let read = cells[index].and_then(|text| match (index, start) {
                (END, Some(start)) => end_moment(text, start, &self.zone),
                _ => moment(text, &self.zone),
            });
            // What is no time (`Unknown`, or nonsense) is left for the parser to judge.
            if let Some(time) = read {
                row[index] = Some(time.as_second().to_string());
            }
        }
        row
    }
}

/// Turns rows of a day of `processed/` into text for [`Sacct`](crate::slurm::Sacct): a row for
/// the job, and one for a step that measured what it used.
///
/// slurm-usage wrote 0 where it knew nothing. 0 bytes of memory, or no CPU time in a job that
/// ran, were never measured: they are printed as blanks, and what follows from them is unknown.
pub struct ProcessedDay {
    zone: TimeZone,
    text: Vec<u8>,
    /// The latest of the moments at which its rows were made.
    pub processed_time: Option<Timestamp>,
}

/// What is printed of a processed row.
const PROCESSED_COLUMNS: [&str; 15] = [
    "JobID",
    "User",
    "Partition",
    "State",
    "Submit",
    "Start",
    "End",
    "ElapsedRaw",
    "AllocCPUS",
    "AllocTRES",
    "ReqMem",
    "NodeList",
    "MaxRSS",
    "TotalCPU",
    "JobName",
];

impl ProcessedDay {
    pub fn new(zone: TimeZone) -> ProcessedDay {
        let mut text = PROCESSED_COLUMNS.join(&DELIMITER.to_string()).into_bytes();
        text.push(b'\n');
        ProcessedDay { zone, text, processed_time: None }
    }

    /// Takes some rows, but for jobs that are `known` from elsewhere.
    pub fn add<'a>(
        &mut self,
        names: &[String],
        rows: usize,
        cell: impl Fn(usize, usize) -> Option<&'a str>,
        known: impl Fn(&str) -> bool,
    ) {
        let place = |name: &str| names.iter().position(|known| known == name);
        let places = ProcessedPlaces::of(place);
        for row in 0..rows {
            let at = |place: Option<usize>| place.and_then(|place| cell(row, place));
            let job_id = at(places.job_id).unwrap_or_default();
            if known(job_id) {
                continue;
            }
            let processed =
                at(places.processed_date).and_then(|text| real_moment(text, &self.zone));
            self.processed_time = self.processed_time.max(processed);
            self.add_row(job_id, &places, at);
        }
    }

    /// The text of the rows so far.
    pub fn end(self) -> Vec<u8> {
        self.text
    }

    fn add_row<'a>(
        &mut self,
        job_id: &str,
        places: &ProcessedPlaces,
        at: impl Fn(Option<usize>) -> Option<&'a str>,
    ) {
        let text = |place| at(place).map(str::to_owned);
        let seconds = |time: Option<Timestamp>| time.map(|time| time.as_second().to_string());
        let start = at(places.start_time).and_then(|text| moment(text, &self.zone));
        let end = at(places.end_time).and_then(|text| match start {
            Some(start) => end_moment(text, start, &self.zone),
            None => moment(text, &self.zone),
        });
        // Early versions have no time of submission where sacct printed none.
        let submit = at(places.submit_time).and_then(|text| moment(text, &self.zone)).or(start);
        let user = text(places.user).filter(|user| user != "MISSING_USER");
        let cpus = text(places.alloc_cpus);
        let resources = match (&cpus, at(places.alloc_gpus).and_then(whole)) {
            (Some(cpus), Some(0)) => Some(format!("cpu={cpus}")),
            (Some(cpus), Some(gpus)) => Some(format!("cpu={cpus},gres/gpu={gpus}")),
            _ => None,
        };
        let ran = text(places.elapsed_seconds);
        print(
            &[
                Some(job_id.to_owned()),
                user,
                text(places.partition),
                text(places.state),
                seconds(submit),
                seconds(start),
                seconds(end),
                ran,
                cpus,
                resources,
                at(places.req_mem_mb).and_then(positive).map(|mebibytes| format!("{mebibytes}M")),
                text(places.node_list),
                None,
                None,
                text(places.job_name),
            ],
            &mut self.text,
        );

        let memory = at(places.max_rss_mb).and_then(positive);
        let cpu_seconds = at(places.total_cpu_seconds).and_then(positive);
        if memory.is_some() || cpu_seconds.is_some() {
            let mut step: Vec<Option<String>> = vec![None; PROCESSED_COLUMNS.len()];
            step[0] = Some(format!("{job_id}.batch"));
            step[12] = memory.map(|mebibytes| format!("{mebibytes}M"));
            step[13] = cpu_seconds.map(duration);
            print(&step, &mut self.text);
        }
    }
}

/// Where in a processed row each thing stands.
struct ProcessedPlaces {
    job_id: Option<usize>,
    user: Option<usize>,
    job_name: Option<usize>,
    partition: Option<usize>,
    state: Option<usize>,
    submit_time: Option<usize>,
    start_time: Option<usize>,
    end_time: Option<usize>,
    node_list: Option<usize>,
    elapsed_seconds: Option<usize>,
    alloc_cpus: Option<usize>,
    req_mem_mb: Option<usize>,
    max_rss_mb: Option<usize>,
    total_cpu_seconds: Option<usize>,
    alloc_gpus: Option<usize>,
    processed_date: Option<usize>,
}

impl ProcessedPlaces {
    fn of(place: impl Fn(&str) -> Option<usize>) -> ProcessedPlaces {
        ProcessedPlaces {
            job_id: place("job_id"),
            user: place("user"),
            job_name: place("job_name"),
            partition: place("partition"),
            state: place("state"),
            submit_time: place("submit_time"),
            start_time: place("start_time"),
            end_time: place("end_time"),
            node_list: place("node_list"),
            elapsed_seconds: place("elapsed_seconds"),
            alloc_cpus: place("alloc_cpus"),
            req_mem_mb: place("req_mem_mb"),
            max_rss_mb: place("max_rss_mb"),
            total_cpu_seconds: place("total_cpu_seconds"),
            alloc_gpus: place("alloc_gpus"),
            processed_date: place("processed_date"),
        }
    }
}

/// Prints a row. Only the last cell may hold a delimiter or go on over lines.
fn print(cells: &[Option<String>], text: &mut Vec<u8>) {
    for (index, cell) in cells.iter().enumerate() {
        let cell = cell.as_deref().unwrap_or_default();
        if index + 1 < cells.len() {
            text.extend(cell.replace([DELIMITER, '\n'], "?").into_bytes());
            text.extend(DELIMITER.to_string().into_bytes());
        } else {
            text.extend_from_slice(cell.as_bytes());
        }
    }
    text.push(b'\n');
}

/// The time that a clock on the wall showed: `2025-08-14T12:00:00`, whatever follows.
fn wall_clock(text: &str) -> Option<DateTime> {
    const FORM: &str = "2025-08-14T12:00:00";
    text.get(..FORM.len())?.replace(' ', "T").parse().ok()
}

/// The moment of a wall clock's time. When clocks go back an hour comes twice: the first is taken.
fn moment(text: &str, zone: &TimeZone) -> Option<Timestamp> {
    zone.to_ambiguous_timestamp(wall_clock(text)?).compatible().ok()
}

/// The moment of an end, which does not come before the start: if need be in the second of two
/// equal hours.
fn end_moment(text: &str, start: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
    let ambiguous = zone.to_ambiguous_timestamp(wall_clock(text)?);
    match ambiguous.offset() {
        tz::AmbiguousOffset::Fold { .. } => {
            let first = ambiguous.earlier().ok()?;
            if first < start { ambiguous.later().ok() } else { Some(first) }
        }
        _ => ambiguous.compatible().ok(),
    }
}

/// A moment that says its own zone, as the time of processing does; one that does not is the
/// wall clock's.
fn real_moment(text: &str, zone: &TimeZone) -> Option<Timestamp> {
    text.parse().ok().or_else(|| moment(text, zone))
}

fn positive(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0)
}

fn whole(text: &str) -> Option<i64> {
    text.parse().ok()
}

/// Seconds as SLURM writes a duration.
fn duration(seconds: f64) -> String {
    let thousandths = (seconds * 1000.0).round() as i64;
    let whole = thousandths / 1000;
    let (hours, minutes, seconds) = (whole / 3600, whole / 60 % 60, whole % 60);
    format!("{hours:02}:{minutes:02}:{seconds:02}.{:03}", thousandths % 1000)
}

#[cfg(test)]
mod tests {
    use record::Job;

    use super::*;
    use crate::parsed::{Parsed, parse};
    use crate::slurm::Sacct;

    fn zone() -> TimeZone {
        TimeZone::get("America/Chicago").unwrap()
    }

    fn jobs(text: &[u8]) -> Parsed<Job> {
        parse(Sacct::new("maple", "2025-09-01T00:00:00Z".parse().unwrap()), text)
    }

    /// Rows as lines of cells between blanks; `_` is an empty cell.
    fn add(days: &mut RawDays, names: &str, rows: &[&str]) {
        let names: Vec<String> = names.split(' ').map(str::to_owned).collect();
        let rows: Vec<Vec<&str>> = rows
            .iter()
            .map(|row| row.split(' ').map(|cell| if cell == "_" { "" } else { cell }).collect())
            .collect();
        days.add(&names, rows.len(), |row, column| Some(rows[row][column]));
    }

    const RAW: &str = "JobName JobID JobIDRaw User State Submit Start End ElapsedRaw AllocCPUS ReqMem MaxRSS TotalCPU NodeList";

    #[test]
    fn a_step_of_a_later_day_goes_to_its_job() {
        let mut days = RawDays::new(zone());
        // Rows in any order, as a table without one gives them.
        add(
            &mut days,
            RAW,
            &[
                "batch 7.batch 7.batch _ COMPLETED 2025-08-14T22:00:00 2025-08-14T22:00:00 2025-08-15T02:00:00 14400 2 _ 1G 01:00:00 n1",
                "fit 7 7 ann COMPLETED 2025-08-14T21:00:00 2025-08-14T22:00:00 2025-08-15T02:00:00 14400 2 4G _ _ n1",
                "now 8 8 bob RUNNING 2025-08-14T21:00:00 2025-08-14T22:00:00 Unknown 3600 1 1G _ _ n2",
            ],
        );
        let first = jobs(&days.end_day(Some("2025-08-15".parse().unwrap())).unwrap());
        assert_eq!(first.rejects, []);
        // Job 7 ends on the next day; job 8 runs, and is known as it was.
        assert_eq!(first.records.iter().map(|job| job.job_id.as_str()).collect::<Vec<_>>(), ["8"]);

        add(
            &mut days,
            RAW,
            &[
                "big 7.0 7.0 _ COMPLETED 2025-08-15T01:00:00 2025-08-15T01:00:00 2025-08-15T02:00:00 3600 2 _ 3G 01:30:00 n1",
                "go 8.0 8.0 _ RUNNING 2025-08-15T01:00:00 2025-08-15T01:00:00 Unknown 60 1 _ _ _ n2",
            ],
        );
        let second = jobs(&days.end_day(None).unwrap());
        assert_eq!(second.rejects, []);
        let job = &second.records[0];
        assert_eq!(second.records.len(), 1);
        // 3G of the step is more than 1G of the script; 1 h and 1.5 h of CPU time are 9000 s.
        assert_eq!((job.max_rss_mb, job.total_cpu_seconds), (Some(3072.0), Some(9000.0)));
        // Chicago is 5 h behind UTC in August.
        assert_eq!(job.submit_time.to_string(), "2025-08-15T02:00:00Z");
        assert_eq!(job.job_name.as_deref(), Some("fit"));
    }

    #[test]
    fn a_step_whose_job_is_nowhere_is_set_aside() {
        let mut days = RawDays::new(zone());
        add(&mut days, RAW, &["x 9.0 9.0 _ COMPLETED _ _ _ 1 1 _ _ _ n1"]);
        let parsed = jobs(&days.end_day(None).unwrap());
        assert_eq!(parsed.records, []);
        assert_eq!(parsed.rejects[0].reason, "a step without its job");
    }

    #[test]
    fn a_wall_clocks_time_is_read_in_its_zone() {
        let check = |text: &str, expected: &str| {
            assert_eq!(moment(text, &zone()).unwrap().to_string(), expected, "{text}");
        };
        check("2025-08-14T12:00:00", "2025-08-14T17:00:00Z");
        // What the later versions wrote: the wall clock's time, called UTC.
        check("2025-08-14T12:00:00Z", "2025-08-14T17:00:00Z");
        check("2025-08-14 12:00:00.000000+00:00", "2025-08-14T17:00:00Z");
        check("2025-01-14T12:00:00", "2025-01-14T18:00:00Z");
        // On 2 November the hour from 1 to 2 comes twice.
        check("2025-11-02T01:30:00", "2025-11-02T06:30:00Z");
        assert_eq!(moment("Unknown", &zone()), None);
        let start = moment("2025-11-02T01:50:00", &zone()).unwrap();
        let end = end_moment("2025-11-02T01:10:00", start, &zone()).unwrap();
        assert_eq!(end.to_string(), "2025-11-02T07:10:00Z");
    }

    const PROCESSED: &str = "job_id user job_name partition state submit_time start_time end_time \
        node_list elapsed_seconds alloc_cpus req_mem_mb max_rss_mb total_cpu_seconds alloc_gpus \
        cpu_efficiency processed_date";

    fn processed(rows: &[&str], known: &str) -> (Parsed<Job>, Option<Timestamp>) {
        let names: Vec<String> = PROCESSED.split_whitespace().map(str::to_owned).collect();
        let rows: Vec<Vec<&str>> = rows.iter().map(|row| row.split(' ').collect()).collect();
        let cell = |row: usize, column: usize| Some(rows[row][column]).filter(|cell| *cell != "_");
        let mut day = ProcessedDay::new(zone());
        day.add(&names, rows.len(), cell, |job_id| job_id == known);
        let time = day.processed_time;
        (jobs(&day.end()), time)
    }

    #[test]
    fn a_processed_row_is_a_job_with_what_it_used() {
        let (parsed, time) = processed(
            &[
                "7 ann fit gpu COMPLETED 2025-08-14T12:00:00Z 2025-08-14T13:00:00Z 2025-08-14T14:00:00Z n1 3600 4 4096.0 1024.0 7200.0 2 50.0 2025-08-15T03:00:00Z",
                "16_5 bob arr cpu CANCELLED 2025-08-14T12:00:00 _ 2025-08-14T12:30:00 _ 0 1 2048.0 0.0 0.0 0 0.0 2025-08-15T04:00:00.5+00:00",
                "9 eve old cpu COMPLETED 2025-08-14T12:00:00 2025-08-14T12:00:00 2025-08-14T12:10:00 n2 600 1 0.0 0.0 0.0 0 0.0 2025-08-15T03:00:00Z",
                "10 eve raw cpu COMPLETED 2025-08-14T12:00:00 2025-08-14T12:00:00 2025-08-14T12:10:00 n2 600 1 0.0 0.0 0.0 0 0.0 2025-08-15T09:00:00Z",
            ],
            "10",
        );
        assert_eq!(parsed.rejects, []);
        let [ann, bob, eve] = &parsed.records[..] else { panic!("{:?}", parsed.records) };
        assert_eq!(ann.start_time.unwrap().to_string(), "2025-08-14T18:00:00Z");
        assert_eq!((ann.alloc_cpus, ann.alloc_gpus), (Some(4), Some(2)));
        // 7200 s of 4 × 3600 s; 1024 of 4096 MiB; 4 GiB not used but for 1, over an hour.
        assert_eq!((ann.cpu_efficiency, ann.memory_efficiency), (Some(50.0), Some(25.0)));
        assert_eq!((ann.cpu_hours_wasted, ann.memory_gb_hours_wasted), (Some(2.0), Some(3.0)));
        assert_eq!(ann.gpu_hours_reserved, Some(2.0));
        // One that never ran holds nothing and used nothing.
        assert_eq!((bob.start_time, bob.alloc_cpus, bob.cpu_efficiency), (None, None, None));
        assert_eq!(bob.array_job_id.as_deref(), Some("16"));
        // One that ran and has only zeros was not measured.
        assert_eq!((eve.cpu_efficiency, eve.memory_efficiency, eve.req_mem_mb), (None, None, None));
        assert_eq!(eve.cpu_hours_reserved, Some(1.0 / 6.0));
        assert_eq!(time.unwrap().to_string(), "2025-08-15T04:00:00.5Z");
    }

    #[test]
    fn names_may_hold_anything() {
        let mut text = Vec::new();
        let cell = |text: &str| Some(text.to_owned());
        print(&[cell("7"), cell("a\x1fb"), None, cell("x\x1fy")], &mut text);
        assert_eq!(text, b"7\x1fa?b\x1f\x1fx\x1fy\n");
        assert_eq!(duration(93_784.5), "26:03:04.500");
    }
}
