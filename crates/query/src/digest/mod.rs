//! A digest: what several analyses answer about one period, put together as a document.
//!
//! Which analyses, with which columns and beside what of the period before, is data. No number is
//! asked otherwise than `plimsoll report` asks it.

mod compare;
mod part;
mod words;

use std::collections::HashSet;

use anyhow::{Context, Result};
use futures::try_join;
use lake::Lake;
use report::{ClusterCoverage, Document, Picture, Report, Section, Value};

use crate::{
    Ask, Gpus, Question, Refused, Selection, analysis, current_policy, draw, options_of_chart,
    run_each,
};

pub use part::{ChartPart, Digest, Kept, Part, ReportPart, Shares, Shows};

/// Answers all that a digest asks about the question's period, and about the one before it where
/// that is to be compared.
pub async fn digest(lake: &Lake, digest: &Digest, question: &Question) -> Result<Document> {
    let parts: Vec<&ReportPart> = digest.parts.iter().filter_map(Part::report).collect();
    let compared: Vec<&ReportPart> =
        parts.iter().copied().filter(|part| !part.compare.is_empty()).collect();
    let period = question.period.before().context("the period begins before the calendar does")?;
    let question_before = Question { period, ..question.clone() };
    let (Answers { mut reports, drawn }, earlier, charts) = try_join!(
        answers(lake, &parts, question),
        answers(lake, &compared, &question_before),
        charts(lake, digest, question),
    )?;
    // A history of GPUs may be known where that of jobs is not.
    let days_known = |report: &&Report| {
        report.coverage.clusters.iter().map(ClusterCoverage::days_known).sum::<i64>()
    };
    let of_period = reports.iter().filter(|report| report.period == question.period);
    let coverage = of_period
        .rev()
        .max_by_key(days_known)
        .map(|report| report.coverage.clone())
        .unwrap_or_default();
    let shares = match &digest.shares {
        Some(shares) => {
            let policy = current_policy(lake, &question.judgement).await?;
            Some(shares.of(&parts, &reports, &policy.all, question))
        }
        None => None,
    };

    let mut earlier = earlier.reports.into_iter();
    let mut drawn = drawn.into_iter();
    let mut charts = charts.into_iter();
    let mut reports = reports.drain(..);
    let mut sections = Vec::new();
    for part in &digest.parts {
        match &part.shows {
            Shows::Report(shown) => {
                let report = reports.next().expect("every part has its report");
                let before = if shown.compare.is_empty() { None } else { earlier.next() };
                let drawn = if shown.is_drawn { drawn.next() } else { None };
                sections.extend(shown_sections(part, shown, report, before, drawn, question)?);
            }
            Shows::Chart(_) => {
                let picture = charts.next().expect("every chart has its picture");
                sections.extend(picture.map(|picture| {
                    Section::Picture(Picture { title: part.heading.clone(), ..picture })
                }));
            }
            Shows::Words => {
                let words = words::report(part, &sections, question, &coverage);
                if !words.table.rows.is_empty() {
                    sections.push(Section::Report(words));
                }
            }
        }
    }
    say_once(&mut sections);
    Ok(Document {
        title: digest.title.clone(),
        period: question.period.clone(),
        coverage,
        shares: shares.unwrap_or_default(),
        sections,
    })
}

/// The reports of the parts, and of those that are drawn the reports that their charts show.
struct Answers {
    reports: Vec<Report>,
    drawn: Vec<Report>,
}

async fn answers(lake: &Lake, parts: &[&ReportPart], question: &Question) -> Result<Answers> {
    let mut asks: Vec<Ask> = Vec::new();
    for part in parts {
        let options = part.options.clone();
        asks.push(Ask { analysis: analysis(&part.report)?, options, top: None });
    }
    for part in parts.iter().filter(|part| part.is_drawn) {
        let analysis = analysis(&part.report)?;
        asks.push(Ask { analysis, options: options_of_chart(analysis, &part.options), top: None });
    }
    let mut reports = run_each(lake, &asks, question).await?;
    let drawn = reports.split_off(parts.len());
    Ok(Answers { reports, drawn })
}

/// The charts of what GPUs did, all from one look at their spans; none where there are no GPUs.
async fn charts(lake: &Lake, digest: &Digest, question: &Question) -> Result<Vec<Option<Picture>>> {
    let wished: Vec<_> = digest.parts.iter().filter_map(Part::chart).collect();
    if wished.is_empty() {
        return Ok(Vec::new());
    }
    let gpus = match Gpus::read(lake, question, &Selection::default()).await {
        Ok(gpus) => gpus,
        Err(error) if error.is::<Refused>() => return Ok(vec![None; wished.len()]),
        Err(error) => return Err(error),
    };
    wished.into_iter().map(|chart| gpus.chart(chart.chart()?, None, chart.by).map(Some)).collect()
}

/// A part's picture and table; nothing if there is nothing to say.
fn shown_sections(
    part: &Part,
    shown: &ReportPart,
    mut report: Report,
    before: Option<Report>,
    drawn: Option<Report>,
    question: &Question,
) -> Result<Vec<Section>> {
    shown.keep_rows(&mut report.table);
    if !says_something(&report) {
        return Ok(Vec::new());
    }
    report.title.clone_from(&part.heading);
    let mut sections = Vec::new();
    if let Some(mut drawn) = drawn {
        shown.keep_rows(&mut drawn.table);
        drawn.title.clone_from(&part.heading);
        let analysis = analysis(&shown.report)?;
        let options = options_of_chart(analysis, &shown.options);
        let picture = draw(analysis, &Question { options, ..question.clone() }, &drawn)?;
        // What is to be known of the numbers stands below the table.
        sections.push(Section::Picture(Picture { notes: Vec::new(), ..picture }));
    }
    if let Some(before) = before {
        let gaps = before.coverage.gaps();
        if gaps.is_empty() {
            compare::put_beside(&mut report.table, &before.table, &shown.compare);
        } else {
            let gaps = gaps.join("; ");
            report
                .notes
                .push(format!("The period before is incomplete, and not compared: {gaps}."));
        }
    }
    shown.keep_columns(&mut report.table);
    if let Some(top) = shown.top {
        report.keep_first(top);
    }
    sections.push(Section::Report(report));
    Ok(sections)
}

/// Whether there is a number other than zero, or words where there are no numbers.
fn says_something(report: &Report) -> bool {
    let table = &report.table;
    let has_numbers = table.columns.iter().any(|column| column.unit.is_numeric());
    let says = |value: &Value| match value.number() {
        Some(number) => number != 0.0,
        None => !has_numbers && *value != Value::Unknown,
    };
    table.rows.iter().flatten().any(says)
}

/// Leaves a note below the first of the sections that have it.
fn say_once(sections: &mut [Section]) {
    let mut said = HashSet::new();
    for section in sections {
        let notes = match section {
            Section::Report(report) => &mut report.notes,
            Section::Picture(picture) => &mut picture.notes,
        };
        notes.retain(|note| said.insert(note.clone()));
    }
}
