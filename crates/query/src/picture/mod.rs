//! Pictures of what GPUs did.
//!
//! Spans are read once ([`crate::gpu_history`]) and then passed over in plain loops: a join of spans
//! with buckets would make millions of rows of thousands.

mod bucket;
mod chart;
mod granted;
mod heatmap;
mod scatter;
mod seen;
mod selection;
mod trend;

use anyhow::{Result, bail};
use lake::Lake;
use report::{Column, Coverage, Drawing, Picture, Report, Table, Unit, Value};

pub use bucket::Bucket;
pub use granted::granted_trend;
pub use scatter::scatter;
pub use selection::{Selection, is_gpu};
pub use trend::trend;

pub(crate) use seen::Seen;
pub(crate) use selection::{host_pattern, is_host, model_pattern};

use crate::pseudonym::pseudonym;
use crate::{Question, Refused, Session, Statement};
use seen::Gpu;

/// What a heatmap is to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heatmap {
    /// How long a column is; five minutes, or longer for long periods, if it is not said.
    pub bucket: Option<Bucket>,
    /// How many columns there may be where it is not said how long one is.
    pub most_columns: usize,
    pub coloring: Coloring,
    /// What a row is; if it is not said, a GPU, or where these are too many, a machine or a model.
    pub rows: Option<Rows>,
    pub group_by: GroupBy,
}

impl Default for Heatmap {
    fn default() -> Heatmap {
        Heatmap {
            bucket: None,
            most_columns: 2100, // as many as a picture of the usual width has room for
            coloring: Coloring::State,
            rows: None,
            group_by: GroupBy::Machine,
        }
    }
}

/// What colours stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coloring {
    State,
    User,
    Utilization,
}

/// What a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    Gpu,
    Machine,
    Device,
}

/// What neighbouring rows share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupBy {
    Machine,
    Device,
}

/// What areas of a chart are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    Class,
    Device,
    User,
}

impl By {
    /// Reads `class`, `device` or `user`.
    pub fn parse(written: &str) -> Result<By> {
        Ok(match written {
            "class" => By::Class,
            "device" => By::Device,
            "user" => By::User,
            _ => bail!("there is no by {written:?}; there are class, device, user"),
        })
    }
}

/// A chart by its name, with what it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chart {
    pub name: &'static str,
    pub question: &'static str,
    kind: ChartKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ChartKind {
    Usage,
    Availability,
    Week,
    IdleTime,
}

/// Every chart, in the order in which help lists them.
pub static CHARTS: [Chart; 4] = [
    Chart {
        name: "gpu-usage",
        question: "How many GPUs were in use, by whom, and how many are there?",
        kind: ChartKind::Usage,
    },
    Chart {
        name: "gpu-availability",
        question: "How many GPUs were free, and how many could backfill jobs have had?",
        kind: ChartKind::Availability,
    },
    Chart {
        name: "gpu-week",
        question: "At which hours of the week are GPUs in use?",
        kind: ChartKind::Week,
    },
    Chart {
        name: "gpu-idle-time",
        question: "How long do GPUs stay idle?",
        kind: ChartKind::IdleTime,
    },
];

/// More rows than this are thinner than a line: machines are shown instead of their GPUs.
const MOST_GPU_ROWS: usize = 1200;
/// And models instead of machines.
const MOST_MACHINE_ROWS: usize = 400;

/// GPUs over time, a colour a state.
pub async fn heatmap(
    lake: &Lake,
    question: &Question,
    selection: &Selection,
    wish: &Heatmap,
) -> Result<Picture> {
    Gpus::read(lake, question, selection).await?.heatmap(wish)
}

/// A chart of GPUs.
pub async fn chart(
    lake: &Lake,
    question: &Question,
    selection: &Selection,
    chart: &Chart,
    bucket: Option<Bucket>,
    by: By,
) -> Result<Picture> {
    Gpus::read(lake, question, selection).await?.chart(chart, bucket, by)
}

/// What selected GPUs did, read once, for any number of pictures.
pub struct Gpus {
    question: Question,
    selection: Selection,
    seen: Seen,
    coverage: Coverage,
    left_out: Vec<String>,
}

impl Gpus {
    /// Reads it. Nothing selected is an error that says what there is.
    pub async fn read(lake: &Lake, question: &Question, selection: &Selection) -> Result<Gpus> {
        let (seen, coverage, left_out) = seen(lake, question, selection).await?;
        Ok(Gpus {
            question: question.clone(),
            selection: selection.clone(),
            seen,
            coverage,
            left_out,
        })
    }

    /// GPUs over time, a colour a state.
    pub fn heatmap(&self, wish: &Heatmap) -> Result<Picture> {
        let (period, seen) = (&self.question.period, &self.seen);
        let bucket = wish.bucket.unwrap_or_else(|| Bucket::for_period(period, wish.most_columns));
        let edges = bucket.edges(period)?;
        let mut notes = self.left_out.clone();
        let machines = machines(seen);
        let rows = wish.rows.unwrap_or(match (seen.gpus.len(), machines) {
            (gpus, _) if gpus <= MOST_GPU_ROWS => Rows::Gpu,
            (_, machines) if machines <= MOST_MACHINE_ROWS => Rows::Machine,
            _ => Rows::Device,
        });
        let grid = heatmap::grid(seen, &edges, wish.coloring, rows, wish.group_by);
        notes.insert(0, match rows {
            Rows::Gpu => {
                "A cell shows the state that held longest in it; of equals, the first of the legend. \
                 Shares are of all shown time."
            }
            Rows::Machine => {
                "A row is a machine; the height of a colour is the part of its GPUs. Shares are of all \
                 shown time."
            }
            Rows::Device => {
                "A row is a model; the height of a colour is the part of its GPUs. Shares are of all \
                 shown time."
            }
        }.to_owned());
        Ok(Picture {
            name: "heatmap".to_owned(),
            title: self.titled(match wish.coloring {
                Coloring::State => "What GPUs did",
                Coloring::User => "Who held GPUs",
                Coloring::Utilization => "How much GPUs were used",
            }),
            subtitle: subtitle(seen, machines, Some(bucket)),
            period: period.clone(),
            coverage: self.coverage.clone(),
            drawing: Drawing::Grid(grid),
            notes,
        })
    }

    /// A chart of GPUs.
    pub fn chart(&self, chart: &Chart, bucket: Option<Bucket>, by: By) -> Result<Picture> {
        let (period, seen) = (&self.question.period, &self.seen);
        let bucket = bucket.unwrap_or_else(|| Bucket::for_period(period, MOST_CHART_COLUMNS));
        let mut notes = self.left_out.clone();
        let edges = bucket.edges(period)?;
        let average = "Numbers are averages over the observed part of each column.";
        let (drawing, shown_bucket) = match chart.kind {
            ChartKind::Usage => {
                notes.insert(0, average.to_owned());
                (Drawing::Series(chart::usage(seen, &edges, by)), Some(bucket))
            }
            ChartKind::Availability => {
                notes.insert(0, average.to_owned());
                (Drawing::Series(chart::availability(seen, &edges)), Some(bucket))
            }
            ChartKind::Week => {
                notes.insert(
                    0,
                    "Percent of the GPU hours of which the state is known, in the site's zone."
                        .to_owned(),
                );
                (Drawing::Grid(chart::week(seen, period)?), None)
            }
            ChartKind::IdleTime => {
                let (histogram, cut) = chart::idle_times(seen, period);
                notes.insert(
                    0,
                    format!(
                        "{cut} of these times are longer than shown: the period or what was observed \
                         begins or ends within them."
                    ),
                );
                (Drawing::Histogram(histogram), None)
            }
        };
        Ok(Picture {
            name: chart.name.to_owned(),
            title: self.titled(chart.question),
            subtitle: subtitle(seen, machines(seen), shown_bucket),
            period: period.clone(),
            coverage: self.coverage.clone(),
            drawing,
            notes,
        })
    }

    fn titled(&self, title: &str) -> String {
        self.selection.titled(title, &self.question.clusters)
    }
}

/// As many as an area's steps are still told apart.
const MOST_CHART_COLUMNS: usize = 500;

/// The GPUs that a picture would show, as a table.
pub async fn selected(lake: &Lake, question: &Question, selection: &Selection) -> Result<Report> {
    let (seen, coverage, notes) = seen(lake, question, selection).await?;
    let mut gpus: Vec<&Gpu> = seen.gpus.iter().collect();
    gpus.sort_by(|one, other| {
        one.cluster
            .cmp(&other.cluster)
            .then_with(|| heatmap::natural(&one.machine, &other.machine))
            .then_with(|| heatmap::by_id(&one.id, &other.id))
    });
    let column = |name: &str, heading: &str| Column {
        name: name.to_owned(),
        heading: heading.to_owned(),
        unit: Unit::Label,
    };
    let text = |text: &str| Value::Text(text.to_owned());
    let rows = gpus.iter().map(|gpu| {
        let texts = [&gpu.cluster, &gpu.machine, &gpu.id, &gpu.device];
        let mut row: Vec<Value> = texts.map(|part| text(part)).into();
        row.push(text(&gpu.classes.join(", ")));
        row
    });
    Ok(Report {
        name: "heatmap".to_owned(),
        title: "Which GPUs are shown?".to_owned(),
        period: question.period.clone(),
        coverage,
        table: Table {
            columns: vec![
                column("cluster", "Cluster"),
                column("machine", "Machine"),
                column("gpu_id", "GPU"),
                column("device", "Device"),
                column("classes", "Classes"),
            ],
            rows: rows.collect(),
        },
        charts: Vec::new(),
        notes,
    })
}

fn machines(seen: &Seen) -> usize {
    let mut machines: Vec<(&str, &str)> =
        seen.gpus.iter().map(|gpu| (gpu.cluster.as_str(), gpu.machine.as_str())).collect();
    machines.sort_unstable();
    machines.dedup();
    machines.len()
}

fn subtitle(seen: &Seen, machines: usize, bucket: Option<Bucket>) -> String {
    let plural = |count: usize| if count == 1 { "" } else { "s" };
    let gpus = seen.gpus.len();
    let mut words = format!("{gpus} GPU{} on {machines} machine{}", plural(gpus), plural(machines));
    if let Some(bucket) = bucket {
        words += &format!(", a column is {}", bucket.words());
    }
    words
}

/// What the selected GPUs did, how much of it was observed, and what is left out of it. Nothing
/// selected is an error that says what there is.
async fn seen(
    lake: &Lake,
    question: &Question,
    selection: &Selection,
) -> Result<(Seen, Coverage, Vec<String>)> {
    let (answer, coverage) = crate::ask(lake, question, Statement::Gpus).await?;
    let mut seen = answer.gpus;
    selection.apply(&mut seen, question).map_err(Refused)?;
    if question.anonymize {
        seen.users.rename(|user| pseudonym(user));
    }
    let mut notes = answer.left_out;
    notes.extend(answer.policy);
    Ok((seen, coverage.gpus, notes))
}

/// Reads what all GPUs did.
pub(crate) async fn read(session: &Session) -> Result<Seen> {
    let prioritized = ["Priority-ResearcherOwned", "Priority-CHTCOwned"]
        .map(|class| session.policies().newest().class_name(class).to_owned());
    let history = session.gpu_history().await?;
    // Both are there for a moment.
    history.held.try_grow(history.spans.len() * size_of::<seen::Span>())?;
    Ok(Seen::of(&history, &prioritized))
}
