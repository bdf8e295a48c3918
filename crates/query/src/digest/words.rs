//! What the words of a digest mean: a definition of each column that it shows.

use std::collections::HashSet;

use report::{Column, Coverage, Report, Section, Table, Unit, Value};

use super::Part;
use super::compare::MEANINGS;
use crate::{ANALYSES, Question};

/// The definitions of what the sections show, each where it comes first.
pub(super) fn report(
    part: &Part,
    sections: &[Section],
    question: &Question,
    coverage: &Coverage,
) -> Report {
    let mut said = HashSet::new();
    let mut rows = Vec::new();
    let mut say = |section: &str, word: &str, meaning: &str| {
        if said.insert((word.to_owned(), meaning.to_owned())) {
            rows.push([section, word, meaning].map(|text| Value::Text(text.to_owned())).to_vec());
        }
    };
    for section in sections {
        let Section::Report(report) = section else { continue };
        let Some(analysis) = ANALYSES.iter().find(|analysis| analysis.name == report.name) else {
            continue;
        };
        for column in &report.table.columns {
            if let Some(known) = analysis.columns.iter().find(|known| known.name == column.name) {
                say(&report.title, &column.heading, known.meaning);
            }
        }
    }
    for (word, meaning) in MEANINGS {
        let has_word = |report: &&Report| report.table.columns.iter().any(|it| it.heading == word);
        let mut reports = sections.iter().filter_map(|section| match section {
            Section::Report(report) => Some(report),
            Section::Picture(_) => None,
        });
        if let Some(report) = reports.find(has_word) {
            say(&report.title, word, meaning);
        }
    }
    let column = |name: &str, heading: &str| Column {
        name: name.to_owned(),
        heading: heading.to_owned(),
        unit: Unit::Label,
    };
    let columns =
        vec![column("section", "First in"), column("word", "Word"), column("meaning", "Meaning")];
    Report {
        name: "words".to_owned(),
        title: part.heading.clone(),
        period: question.period.clone(),
        coverage: coverage.clone(),
        table: Table { columns, rows },
        charts: Vec::new(),
        notes: Vec::new(),
    }
}
