//! Asks the lake: a question and a lake give a report.
//!
//! The only crate that names DataFusion, but for the one that sends its plans to other machines. An analysis is SQL over tables and terms; a term is a
//! word that reports use, defined once.

mod allocation;
mod analysis;
mod answer;
mod backfill;
mod coverage;
mod digest;
mod drawn;
mod engine;
mod file_reader;
mod function;
mod gpu_history;
mod gpu_id;
mod gpu_span_table;
mod held_files;
mod judgement;
mod lake_table;
mod left_out;
mod listing;
mod memory;
pub mod metric;
mod names;
mod nearest;
pub mod now;
mod option;
mod period_end;
mod picture;
mod pieces;
mod policy;
mod pseudonym;
mod session;
mod shared_read;
mod side_by_side;
mod sight;
mod status;
mod survival;
mod term;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use lake::{Lake, Trackers};
use record::{Record, SitePolicy, TABLES};
use report::{Coverage, Period, Report, Table};

use coverage::History;
use option::Asked;
use shared_read::Shared;

pub use allocation::{Allocation, AllocationUnit, Holders, Length, Measure};
pub use analysis::{ANALYSES, Analysis, GPU_HOST, GPU_HOST_PATTERN, GPU_MODEL};
pub use backfill::TABLES as BACKFILL_TABLES;
pub use digest::{ChartPart, Digest, Kept, Part, ReportPart, Shares, Shows, digest};
pub use drawn::{
    Drawn, DrawnBars, DrawnCurves, DrawnGrid, DrawnPart, NamedChart, chart_by_name, draw,
    options_of_chart,
};
pub use engine::Engine;
pub use function::{is_ours, receive, receive_aggregate, received};
pub use judgement::{Device, Judgement, Pattern, Preemptible, SLOT_CLASSES, Tier};
pub use lake_table::STORE_URL;
pub use memory::Memory;
pub use nearest::nearest;
pub use option::{Alternative, AnalysisOption, Values};
pub use period_end::PeriodEnd;
pub use picture::{
    Bucket, By, CHARTS, Chart, Coloring, Gpus, GroupBy, Heatmap, Rows, Selection, chart,
    granted_trend, heatmap, is_gpu, scatter, selected, trend,
};
pub use policy::{
    CurrentPolicy, collected_policy, current_policy, is_same_policy, policy_at, policy_rows,
    stored_policies,
};
pub use pseudonym::Secret;
pub use session::{Session, no_such_cluster};
pub use sight::{Hidden, Sight};
pub use status::{holdings, status};
pub use term::{TERMS, Term};

/// What cannot be answered because of how it was asked: the asker can do something about it, and
/// may read why.
#[derive(Debug)]
pub struct Refused(anyhow::Error);

impl fmt::Display for Refused {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:#}", self.0)
    }
}

impl std::error::Error for Refused {}

/// What a report is asked about.
#[derive(Clone, Debug)]
pub struct Question {
    pub period: Period,
    /// The clusters to look at; none named means all.
    pub clusters: Vec<String>,
    /// How many rows of the answer to give; all if none is said.
    pub top: Option<usize>,
    /// Users by the name of their group.
    pub groups: BTreeMap<String, Vec<String>>,
    /// What was granted to whom.
    pub allocations: Vec<Allocation>,
    /// What the reader's configuration says of the site's GPUs. What it does not say, the lake's stored
    /// policies do.
    pub judgement: Arc<Judgement>,
    /// What the analysis is told beside, by the names of its options.
    pub options: BTreeMap<String, String>,
    /// Whether users get pseudonyms: the same user the same one, in every report.
    pub anonymize: bool,
    /// What who asks may see.
    pub sight: Sight,
    /// Who works it out; this process if nobody is named.
    pub engine: Option<Arc<dyn Engine>>,
    /// When it is asked: of what is later nothing is known, though the last look would hold on.
    pub now: Timestamp,
    /// What the process's questions may hold together.
    pub memory: Memory,
    /// How the end of the period was found; nothing if it was named.
    pub period_end: Option<PeriodEnd>,
}

impl Question {
    /// About all clusters, without groups, allocations and judgements, and all of the answer, asked when the
    /// period is over.
    pub fn about(period: Period) -> Question {
        Question {
            now: period.end,
            period,
            clusters: Vec::new(),
            top: None,
            groups: BTreeMap::new(),
            allocations: Vec::new(),
            judgement: Arc::default(),
            options: BTreeMap::new(),
            anonymize: false,
            engine: None,
            sight: Sight::Staff,
            memory: Memory::default(),
            period_end: None,
        }
    }

    /// The allocations that who asks may see.
    pub(crate) fn allocations_seen(&self) -> impl Iterator<Item = &Allocation> {
        self.allocations.iter().filter(|allocation| self.sight.covers_use_of(allocation))
    }

    /// Until when something may be known: the period's end, or now if that is earlier.
    pub(crate) fn known_end(&self) -> Timestamp {
        self.now.min(self.period.end).max(self.period.start)
    }
}

/// An analysis by its name; an unknown one is answered with what there is.
pub fn analysis(name: &str) -> Result<&'static Analysis> {
    if let Some(analysis) = ANALYSES.iter().find(|analysis| analysis.name == name) {
        return Ok(analysis);
    }
    let names: Vec<&str> = ANALYSES.iter().map(|analysis| analysis.name).collect();
    match nearest(name, names.iter().copied()) {
        Some(near) => bail!("there is no report {name:?}; did you mean {near:?}?"),
        None => bail!("there is no report {name:?}; there are {}", names.join(", ")),
    }
}

/// Refuses options that an analysis does not have, or that it cannot be asked with.
pub fn check_options(analysis: &Analysis, question: &Question) -> Result<()> {
    option::asked(analysis, &question.options, question).map(|_| ())
}

/// Answers an analysis' question.
pub async fn run(lake: &Lake, analysis: &Analysis, question: &Question) -> Result<Report> {
    let mut reports = run_all(lake, &[analysis], question).await?;
    Ok(reports.pop().expect("one analysis has one report"))
}

/// Answers several analyses' questions at once: about the same state of the lake.
pub async fn run_all(
    lake: &Lake,
    analyses: &[&Analysis],
    question: &Question,
) -> Result<Vec<Report>> {
    let asks: Vec<Ask> = analyses
        .iter()
        .map(|analysis| Ask { analysis, options: question.options.clone(), top: question.top })
        .collect();
    run_each(lake, &asks, question).await
}

/// One of several analyses that are asked at once.
pub struct Ask<'a> {
    pub analysis: &'a Analysis,
    /// What it is told beside, by the names of its options.
    pub options: BTreeMap<String, String>,
    /// How many rows of the answer to give; all if none is said.
    pub top: Option<usize>,
}

impl Ask<'_> {
    /// Whether another one has the same answer, but for how many rows of it are given.
    fn asks_same(&self, other: &Ask<'_>) -> bool {
        self.analysis.name == other.analysis.name && self.options == other.options
    }
}

/// Answers several analyses' questions, each with options of its own: at once, but for those about
/// allocations, which are about a time of their own.
pub async fn run_each(lake: &Lake, asks: &[Ask<'_>], question: &Question) -> Result<Vec<Report>> {
    let is_about_allocations = |ask: &&Ask| allocation::concerns(ask.analysis.sql);
    let (about, others): (Vec<&Ask>, Vec<&Ask>) = asks.iter().partition(is_about_allocations);
    let mut about = run_about_allocations(lake, &about, question).await?.into_iter();
    let mut others = run_at_once(lake, &others, question).await?.into_iter();
    let in_order = asks.iter().map(|ask| {
        let answered = if is_about_allocations(&ask) { about.next() } else { others.next() };
        answered.expect("every ask has one answer")
    });
    Ok(in_order.collect())
}

async fn run_about_allocations(
    lake: &Lake,
    asks: &[&Ask<'_>],
    question: &Question,
) -> Result<Vec<Report>> {
    if asks.is_empty() {
        return Ok(Vec::new());
    }
    for ask in asks {
        question.sight.covers(ask.analysis)?;
    }
    let about = allocation::question_about(question);
    let about = allocation::question_of_totals(lake, about).await?;
    let mut reports = run_at_once(lake, asks, &about).await?;
    for report in &mut reports {
        question.sight.cut_coverage(&mut report.coverage);
    }
    Ok(reports)
}

async fn run_at_once(lake: &Lake, asks: &[&Ask<'_>], question: &Question) -> Result<Vec<Report>> {
    if asks.is_empty() {
        return Ok(Vec::new());
    }
    // A page may show the same answer twice, such as two columns of it as two pictures.
    let mut distinct: Vec<&Ask> = Vec::new();
    let places: Vec<usize> = asks
        .iter()
        .map(|ask| {
            let is_same = |other: &&Ask| other.asks_same(ask);
            distinct.iter().position(is_same).unwrap_or_else(|| {
                distinct.push(ask);
                distinct.len() - 1
            })
        })
        .collect();
    let asked: Vec<Asked> = distinct
        .iter()
        .map(|ask| option::asked(ask.analysis, &ask.options, question))
        .collect::<Result<_>>()
        .map_err(Refused)?;
    for asked in &asked {
        question.sight.check(&asked.sql)?;
    }
    let (answer, coverage) = ask(lake, question, Statement::Ours(&asked)).await?;
    let reports = asks.iter().zip(places).map(|(ask, place)| {
        let (Asked { analysis, sql, .. }, table) = (&asked[place], answer.tables[place].clone());
        let mut notes: Vec<String> = analysis.notes.iter().map(|&note| note.to_owned()).collect();
        if left_out::concerns(sql) {
            notes.extend(answer.left_out.iter().cloned());
        }
        if policy::concerns(sql) {
            notes.extend(answer.policy.clone());
        }
        notes.extend(question.sight.note());
        let mut report = Report {
            name: analysis.name.to_owned(),
            title: analysis.question.to_owned(),
            period: question.period.clone(),
            coverage: coverage.of(sql).clone(),
            table,
            charts: Vec::new(),
            notes,
        };
        if question.anonymize {
            pseudonym::put_in(&mut report.table, ask.options.get("by").map(String::as_str));
        }
        if let Some(top) = ask.top {
            report.keep_first(top);
        }
        report
    });
    Ok(reports.collect())
}

/// Answers a user's own SQL, which may read and not write, with at most `limit` rows.
pub async fn sql(lake: &Lake, sql: &str, limit: usize, question: &Question) -> Result<Report> {
    question.sight.check(sql)?;
    let (mut answer, coverage) = ask(lake, question, Statement::Users { sql, limit }).await?;
    let table = answer.tables.pop().expect("one statement has one answer");
    let mut notes = answer.left_out;
    notes.extend(answer.policy.filter(|_| policy::concerns(sql)));
    notes.extend(question.sight.note());
    if answer.is_cut {
        notes.push(format!("There are more rows than the {limit} shown; --limit shows more."));
    }
    Ok(Report {
        name: "sql".to_owned(),
        title: sql.split_whitespace().collect::<Vec<_>>().join(" "),
        period: question.period.clone(),
        coverage: coverage.of(sql).clone(),
        table,
        charts: Vec::new(),
        notes,
    })
}

/// The time from the first day that the lake has anything of until now.
pub async fn whole_period(lake: &Lake, zone: &TimeZone, now: Timestamp) -> Result<Period> {
    let mut first = now;
    // A policy may apply from long before there is data.
    for table in TABLES.iter().filter(|table| table.name != SitePolicy::TABLE.name) {
        for file in lake.files(table, &Trackers::new()).await? {
            first = first.min(file.date.to_zoned(TimeZone::UTC)?.timestamp());
        }
    }
    Ok(Period { start: first, end: now, zone: zone.clone() })
}

/// What a session is asked.
#[derive(Clone, Copy)]
enum Statement<'a> {
    Ours(&'a [Asked<'a>]),
    Users {
        sql: &'a str,
        limit: usize,
    },
    /// What GPUs did, for a picture.
    Gpus,
}

impl Statement<'_> {
    /// Whether the statement may use a term. A user may ask which terms there are.
    fn mentions(self, term: &Term) -> bool {
        match self {
            Statement::Ours(_) | Statement::Gpus => {
                self.mention(term.name)
                    || TERMS.iter().any(|other| self.mention(other.name) && other.uses(term))
                    || (left_out::is_said_by(term) && self.leaves_out())
            }
            Statement::Users { .. } => true,
        }
    }

    /// Whether it rests on terms that leave something out.
    fn leaves_out(self) -> bool {
        matches!(self, Statement::Gpus) || self.texts().iter().any(|sql| left_out::concerns(sql))
    }

    fn mention(self, word: &str) -> bool {
        self.texts().iter().any(|sql| mentions(sql, word))
    }

    fn texts(&self) -> Vec<&str> {
        match self {
            Statement::Ours(analyses) => analyses.iter().map(|asked| asked.sql.as_str()).collect(),
            Statement::Users { sql, .. } => vec![sql],
            Statement::Gpus => Vec::new(),
        }
    }
}

/// What a session answered.
#[derive(Default)]
struct Answer {
    tables: Vec<Table>,
    gpus: picture::Seen,
    /// What the site wants left out of GPUs, and why; for statements that leave it out.
    left_out: Vec<String>,
    /// What the reader's configuration overrides of the site policy that the lake stores.
    policy: Option<String>,
    /// Whether there are more rows.
    is_cut: bool,
}

/// How much of the time was observed, for reports of jobs and of GPUs.
struct Observed {
    jobs: Coverage,
    gpus: Coverage,
}

impl Observed {
    /// What a statement rests on.
    fn of(&self, sql: &str) -> &Coverage {
        if left_out::is_about_gpus(sql) { &self.gpus } else { &self.jobs }
    }
}

/// Whether a statement has a word.
fn mentions(sql: &str, word: &str) -> bool {
    sql.match_indices(word).any(|(start, _)| {
        let (before, after) = (&sql[..start], &sql[start + word.len()..]);
        !before.ends_with(is_of_word) && !after.starts_with(is_of_word)
    })
}

fn words(sql: &str) -> impl Iterator<Item = &str> {
    sql.split(|letter| !is_of_word(letter))
}

fn is_of_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// Asks, and asks again if a file was replaced in between: readers are never blocked, so a
/// collector may do that at any moment. And again without those files that cannot be read.
async fn ask(
    lake: &Lake,
    question: &Question,
    statement: Statement<'_>,
) -> Result<(Answer, Observed)> {
    const TRIES: usize = 5;
    if let Some(engine) = &question.engine {
        engine.check().await?;
    }
    let mut tries = 1;
    let mut is_careful = false;
    let mentioned: Vec<bool> = TERMS.iter().map(|term| statement.mentions(term)).collect();
    let mentions = |term: &Term| {
        TERMS.iter().zip(&mentioned).any(|(other, is_one)| *is_one && other.name == term.name)
    };
    loop {
        let shared = match statement {
            // Rows that are held are held here.
            Statement::Ours(asked) if question.engine.is_none() => {
                Shared::of(asked, question, mentions)
            }
            _ => None,
        };
        let shared = shared.as_ref();
        // Those that the end of the period was found by are older than files that changed since.
        let trackers = match &question.period_end {
            Some(end) if tries == 1 && !is_careful => end.trackers.clone(),
            _ => Arc::new(lake.trackers().await?),
        };
        let session =
            Session::open_sharing(lake, question, &trackers, mentions, shared, is_careful).await;
        let session = session.map_err(|error| question.memory.refuse(error))?;
        let answer = answer(&session, statement).await;
        let answer = answer.map_err(|error| question.memory.refuse(error));
        if tries < TRIES && session.files_changed().await {
            tries += 1;
            continue;
        }
        if answer.is_err() && session.files_failed() && !is_careful {
            is_careful = true;
            continue;
        }
        tracing::debug!(files = session.files_opened(), "opened {} files", session.files_opened());
        let coverage = Observed {
            jobs: session.coverage(History::Jobs)?,
            gpus: session.coverage(History::Gpus)?,
        };
        // What it held may be much: nobody has to wait until that is given back, unless the next
        // question needs it.
        match question.memory.limit() {
            Some(_) => drop(session),
            None => drop(tokio::task::spawn_blocking(move || drop(session))),
        }
        return Ok((answer?, coverage));
    }
}

async fn answer(session: &Session, statement: Statement<'_>) -> Result<Answer> {
    let mut answer = Answer::default();
    match statement {
        Statement::Ours(analyses) => {
            for asked in analyses {
                let batches = session
                    .collect_asked(asked)
                    .await
                    .with_context(|| format!("cannot answer {}", asked.analysis.name))?;
                answer.tables.push(answer::table(&batches, asked)?);
            }
        }
        Statement::Users { sql, limit } => {
            let (schema, batches, is_cut) = session.collect_read_only(sql, limit).await?;
            answer.tables.push(answer::plain_table(&schema, &batches)?);
            answer.is_cut = is_cut;
        }
        Statement::Gpus => answer.gpus = picture::read(session).await?,
    }
    if statement.leaves_out() && session.policies().leaves_out() {
        answer.left_out = left_out::notes(session).await?;
    }
    answer.policy = session.policies().note();
    Ok(answer)
}
