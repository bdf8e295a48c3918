//! The steps of one job: what the record of a job is made of, and does not keep.

use jiff::Timestamp;
use record::Text;

use super::super::rows::{Layout, Reader, Row, Rows};
use super::super::{count, moment, name, value, word};
use super::{Columns, State, StepUsage, step_point};

/// A step, such as `12.batch` or `12.0`.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// What stands behind the point.
    pub step: Text,
    pub step_name: Option<Text>,
    pub state: Text,
    pub start_time: Option<Timestamp>,
    pub end_time: Option<Timestamp>,
    pub elapsed_seconds: Option<i64>,
    pub tasks: Option<i64>,
    pub cpus: Option<i64>,
    /// CPU time of all tasks; none if it was not measured.
    pub cpu_seconds: Option<f64>,
    /// The largest sample of the largest task; none if no sample found its processes.
    pub max_rss_mb: Option<f64>,
    pub node_list: Option<Text>,
}

/// Reads the steps of a job in what [`sacct`](super::sacct) prints.
pub struct Steps {
    rows: Rows,
    found: Found,
}

struct Found {
    job_id: Vec<u8>,
    columns: Columns,
    has_job: bool,
    steps: Vec<Step>,
}

impl Steps {
    pub fn of(job_id: &str) -> Steps {
        let job_id = job_id.as_bytes().to_vec();
        let columns = Columns::of(&[]);
        Steps {
            rows: Rows::new(),
            found: Found { job_id, columns, has_job: false, steps: Vec::new() },
        }
    }

    pub fn push(&mut self, piece: &[u8]) {
        self.rows.push(piece, &mut self.found);
    }

    /// The steps, in sacct's order; nothing if the text is not about the job.
    pub fn finish(mut self) -> Option<Vec<Step>> {
        self.rows.finish(&mut self.found);
        self.found.has_job.then_some(self.found.steps)
    }
}

impl Reader for Found {
    fn header(&mut self, names: &[&str]) -> Option<Layout> {
        self.columns = Columns::of(names);
        let last_takes_rest = self.columns.job_name.index == Some(names.len() - 1);
        Some(Layout { id: self.columns.job_id.index?, last_takes_rest })
    }

    fn row(&mut self, _: u64, row: Row<'_>) {
        let id = row.cell(self.columns.job_id);
        if !id.starts_with(&self.job_id) {
            return;
        }
        self.has_job |= id == self.job_id;
        if let Some(point) = step_point(id).filter(|point| *point == self.job_id.len()) {
            // What cannot be read of it was set aside when it was collected.
            self.steps.extend(read(&self.columns, row, &id[point + 1..]).ok());
        }
    }

    fn reject(&mut self, _: u64, _: &str, _: &[u8]) {}
}

fn read(columns: &Columns, row: Row<'_>, step: &[u8]) -> Result<Step, String> {
    let end_time = value(row, columns.end, moment)?;
    let usage = StepUsage::read(columns, row)?;
    Ok(Step {
        step: String::from_utf8_lossy(step).into_owned().into(),
        step_name: name(row, columns.job_name),
        state: State::read(row.cell(columns.state), end_time.is_some()).state,
        start_time: value(row, columns.start, moment)?,
        end_time,
        elapsed_seconds: value(row, columns.elapsed, count)?,
        tasks: value(row, columns.tasks, count)?,
        cpus: value(row, columns.alloc_cpus, count)?,
        cpu_seconds: usage.cpu_seconds,
        max_rss_mb: usage.max_rss_mb,
        node_list: word(row, columns.node_list),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is found of a job in three, in pieces of a byte.
    fn check(job_id: &str, expected: Option<&[&str]>) {
        let text = "\
            JobID|State|Start|End|ElapsedRaw|AllocCPUS|NTasks|MaxRSS|TotalCPU|NodeList|JobName\n\
            12|COMPLETED|1700000000|1700000060|60|4|||00:50|n1|a\n\
            12.batch|COMPLETED|1700000000|1700000060|60|4|1|2048K|00:10|n1|batch\n\
            12.0|FAILED|1700000010|1700000030|20|2|2|1048576|00:40|n1|train|er\n\
            123|COMPLETED|1700000000|1700000060|60|4|||00:00|n1|b\n\
            123.extern|COMPLETED|1700000000|1700000060|60|4|1|0|00:00|n1|extern\n\
            16_1|RUNNING|1700000000|Unknown|60|4|||00:00|n1|c\n";
        let mut steps = Steps::of(job_id);
        text.bytes().for_each(|byte| steps.push(&[byte]));
        let found = steps.finish().map(|steps| {
            let shown = steps.into_iter().map(|step| {
                format!(
                    "{} {} {} {:?} s {:?} tasks {:?} CPU s {:?} MB",
                    step.step,
                    step.step_name.unwrap_or_default(),
                    step.state,
                    step.elapsed_seconds,
                    step.tasks,
                    step.cpu_seconds,
                    step.max_rss_mb
                )
                .replace("Some(", "")
                .replace(')', "")
            });
            shown.collect::<Vec<_>>()
        });
        assert_eq!(
            found,
            expected.map(|lines| lines.iter().map(|&line| line.to_owned()).collect())
        );
    }

    #[test]
    fn the_steps_of_a_job_are_found_among_those_of_others() {
        check(
            "12",
            Some(&[
                "batch batch COMPLETED 60 s 1 tasks 10.0 CPU s 2.0 MB",
                "0 train|er FAILED 20 s 2 tasks 40.0 CPU s 1.0 MB",
            ]),
        );
        // Its MaxRSS of 0 is no measurement, and nothing says that its CPU time is one.
        check("123", Some(&["extern extern COMPLETED 60 s 1 tasks None CPU s None MB"]));
        check("16_1", Some(&[]));
        check("1", None);
        check("99", None);
    }
}
