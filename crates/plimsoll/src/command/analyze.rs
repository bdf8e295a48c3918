//! `plimsoll analyze`: all that most people ask, one below the other.

use anyhow::Result;
use jiff::Timestamp;
use lake::Lake;
use query::{Analysis, Question};
use report::{BarChart, Report};

use crate::cli::Analyze;
use crate::command::output;
use crate::config::Config;
use crate::{Outcome, complain};

pub(crate) async fn run(config: &Config, arguments: &Analyze) -> Result<Outcome> {
    output::format(&arguments.output)?;
    let lake = Lake::open(&config.data_dir)?;
    let now = config.now();
    let question = Question {
        engine: arguments.workers.engine.clone(),
        ..arguments.about.question(&lake, config, now).await?
    };
    let parts = parts(config, arguments)?;
    let analyses: Vec<&Analysis> =
        parts.iter().map(|part| query::analysis(part.report)).collect::<Result<_>>()?;
    let mut reports = query::run_all(&lake, &analyses, &question).await?;
    for (report, part) in reports.iter_mut().zip(&parts) {
        draw(report, part);
    }
    if !reports.iter().any(shows_jobs) {
        complain(&nothing(config, &question, now));
        return Ok(Outcome::Findings);
    }
    output::write(&reports, &arguments.output)
}

/// One report of the whole.
#[derive(Clone, Copy)]
struct Part {
    report: &'static str,
    /// Columns that a terminal shows as bars too.
    bars: &'static [&'static str],
    /// How many rows of a ranking are shown unless `--top` says; what is no ranking is shown whole.
    top: Option<usize>,
}

/// The whole, in order.
const WHOLE: [Part; 8] = [
    SUMMARY,
    Part { report: "daily", bars: HOURS, top: None },
    Part {
        report: "usage-by-user",
        bars: &["cpu_hours", "gpu_hours", "cpu_efficiency", "memory_efficiency"],
        top: Some(15),
    },
    Part { report: GROUPS, bars: HOURS, top: Some(20) },
    Part {
        report: "usage-by-node",
        bars: &["cpu_allocated_percent", "gpu_allocated_percent"],
        top: Some(20),
    },
    Part { report: "states", bars: &[], top: None },
    EFFICIENCY,
    Part { report: "wasters", bars: &[], top: Some(10) },
];

const SUMMARY: Part = Part { report: "cluster-summary", bars: &[], top: None };
const EFFICIENCY: Part = Part { report: "efficiency", bars: &[], top: None };
const GROUPS: &str = "usage-by-group";
const HOURS: &[&str] = &["cpu_hours", "gpu_hours"];

/// How many bars a chart has at most.
const MOST_BARS: usize = 20;

/// The reports that are asked for. Groups are shown unasked where the site has any.
fn parts(config: &Config, arguments: &Analyze) -> Result<Vec<Part>> {
    let mut parts = WHOLE.to_vec();
    if let Some(by) = &arguments.by {
        let report = query::analysis(&format!("usage-by-{by}"))?.name;
        let bars = WHOLE.iter().find(|part| part.report == report).map_or(HOURS, |part| part.bars);
        parts = vec![SUMMARY, Part { report, bars, top: arguments.top }, EFFICIENCY];
    } else if config.groups.is_empty() {
        parts.retain(|part| part.report != GROUPS);
    }
    for part in &mut parts {
        part.top = part.top.map(|top| arguments.top.unwrap_or(top));
    }
    Ok(parts)
}

/// Adds a report's bars, and leaves out the rows that are too many.
fn draw(report: &mut Report, part: &Part) {
    // Before rows are left out: those with most of one thing may not be those with most of another.
    report.charts = part
        .bars
        .iter()
        .filter_map(|column| BarChart::of_column(&report.table, column, MOST_BARS))
        .collect();
    if let Some(top) = part.top {
        report.keep_first(top);
    }
}

/// Whether a report has anything to say of jobs. Days and totals have rows even where none ran.
fn shows_jobs(report: &Report) -> bool {
    !["daily", "cluster-summary"].contains(&report.name.as_str()) && !report.table.rows.is_empty()
}

fn nothing(config: &Config, question: &Question, now: Timestamp) -> String {
    let period = &question.period;
    let moment = |time: Timestamp| {
        time.to_zoned(period.zone.clone()).strftime("%Y-%m-%d %H:%M %Z").to_string()
    };
    let of = match &question.clusters[..] {
        [] => String::new(),
        clusters => format!(" of {}", clusters.join(", ")),
    };
    let days = (now.as_second() - period.start.as_second()).max(0) / 86_400 + 1;
    format!(
        "no jobs{of} from {} to {} in {}: collect them with `plimsoll collect --days {days}`, or \
         name another time with --days or --from; `plimsoll status` says what is kept",
        moment(period.start),
        moment(period.end),
        config.data_dir
    )
}
