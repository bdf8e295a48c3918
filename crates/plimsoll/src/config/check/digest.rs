//! `[digest]`: what a digest is made of, and who gets it.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use query::{
    Analysis, By, ChartPart, Digest, Kept, NamedChart, Part, Question, ReportPart, Shares, Shows,
    chart_by_name,
};
use report::Period;
use source::is_mail_address;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::super::secret::{secret_place, without_secrets};
use super::super::{Digests, Webhook};
use super::{Problems, advice, boolean, string, unknown_keys, whole_number, words, wrong_type};

/// The digest of a site that says nothing of it.
const DEFAULT: &str = include_str!("../default/digest.toml");

/// What a digest is made of where the file says nothing else.
pub(in super::super) fn default_digests() -> Digests {
    let mut problems = Problems::default();
    let document = DeTable::parse(DEFAULT).expect("the default is TOML");
    let value = document.get_ref().get("digest").expect("the default has a [digest]");
    let digests = read(value, Digests::nothing(), &mut problems);
    debug_assert!(problems.found.is_empty(), "{:?}", problems.found);
    digests
}

/// The site's digest: the default, with what the file says in its place.
pub(super) fn digests(value: &Spanned<DeValue>, problems: &mut Problems) -> Digests {
    read(value, default_digests(), problems)
}

fn read(value: &Spanned<DeValue>, mut digests: Digests, problems: &mut Problems) -> Digests {
    let DeValue::Table(table) = value.get_ref() else {
        wrong_type("digest", "a table ([digest])", value, problems);
        return digests;
    };
    const KEYS: [&str; 6] = ["title", "to", "shares", "section", "sections", "webhook"];
    unknown_keys(table, &KEYS, problems);
    if let Some(value) = table.get("title")
        && let Some(title) = string("digest.title", "a string", value, problems)
    {
        title.clone_into(&mut digests.digest.title);
    }
    if let Some(value) = table.get("to") {
        digests.to = addresses("digest.to", value, problems);
    }
    if let Some(value) = table.get("shares") {
        digests.digest.shares = shares(value, problems);
    }
    for (part, _) in tables("digest.section", table.get("section"), problems, section) {
        put(&mut digests.digest, part);
    }
    if let Some(value) = table.get("sections") {
        choose(&mut digests.digest.parts, value, problems);
    }
    let hooks = tables("digest.webhook", table.get("webhook"), problems, webhook);
    digests.webhooks.extend(hooks.into_iter().map(|(hook, _)| hook));
    digests
}

/// Puts the parts of a section in the place of those of its name, or at the end: above the words,
/// which speak of what is above them.
fn put(digest: &mut Digest, parts: Vec<Part>) {
    let Some(name) = parts.first().map(|part| part.name.clone()) else { return };
    let of_name = |part: &Part| part.name == name;
    let words = digest.parts.iter().position(|part| part.shows == Shows::Words);
    let end = words.unwrap_or(digest.parts.len());
    let place = digest.parts.iter().position(of_name).unwrap_or(end);
    digest.parts.retain(|part| !of_name(part));
    digest.parts.splice(place..place, parts);
}

/// Leaves the sections that are named, in that order.
fn choose(parts: &mut Vec<Part>, value: &Spanned<DeValue>, problems: &mut Problems) {
    let mut chosen = Vec::new();
    for name in words("digest.sections", value, problems) {
        let of_name: Vec<Part> = parts.iter().filter(|part| part.name == name).cloned().collect();
        if of_name.is_empty() {
            let mut names: Vec<&str> = parts.iter().map(|part| part.name.as_str()).collect();
            names.dedup();
            let advice = advice(&name, &names);
            problems.add(value.span(), format!("digest.sections: there is no {name:?}: {advice}"));
        }
        chosen.extend(of_name);
    }
    *parts = chosen;
}

/// What an array of tables says, each with its place.
pub(super) fn tables<T>(
    key: &str,
    value: Option<&Spanned<DeValue>>,
    problems: &mut Problems,
    read: fn(&DeTable, Range<usize>, &mut Problems) -> Option<T>,
) -> Vec<(T, Range<usize>)> {
    let Some(value) = value else { return Vec::new() };
    let DeValue::Array(elements) = value.get_ref() else {
        wrong_type(key, &format!("an array of tables ([[{key}]])"), value, problems);
        return Vec::new();
    };
    let mut all = Vec::new();
    for element in elements {
        match element.get_ref() {
            DeValue::Table(table) => {
                let read = read(table, element.span(), problems);
                all.extend(read.map(|read| (read, element.span())));
            }
            _ => wrong_type(key, "a table", element, problems),
        }
    }
    all
}

fn shares(value: &Spanned<DeValue>, problems: &mut Problems) -> Option<Shares> {
    let DeValue::Table(table) = value.get_ref() else {
        wrong_type("digest.shares", "a table ([digest.shares])", value, problems);
        return None;
    };
    unknown_keys(table, &["report", "column", "rows"], problems);
    let analysis = analysis("digest.shares", table, value.span(), problems)?;
    let column = needed("digest.shares", "column", table, value.span(), problems)?;
    known_columns("digest.shares.column", analysis, &[column.to_owned()], value.span(), problems);
    let rows = table.get("rows").map(|rows| words("digest.shares.rows", rows, problems));
    Some(Shares {
        report: analysis.name.to_owned(),
        column: column.to_owned(),
        rows: rows.unwrap_or_default(),
    })
}

/// One section; one for each model, if it names several.
fn section(table: &DeTable, span: Range<usize>, problems: &mut Problems) -> Option<Vec<Part>> {
    const KEYS: [&str; 14] = [
        "name",
        "heading",
        "report",
        "chart",
        "words",
        "options",
        "columns",
        "compare",
        "devices",
        "where_equal",
        "where_above_zero",
        "top",
        "drawn",
        "by",
    ];
    unknown_keys(table, &KEYS, problems);
    let key = "digest.section";
    let name = needed(key, "name", table, span.clone(), problems)?.to_owned();
    let heading = needed(key, "heading", table, span.clone(), problems)?.to_owned();
    let kinds = ["report", "chart", "words"].map(|kind| table.contains_key(kind));
    if kinds.into_iter().filter(|is_there| *is_there).count() != 1 {
        let words = format!("{key}: {name:?} shows one of a report, a chart or words: name one");
        problems.add(span, words);
        return None;
    }
    if table.contains_key("words") {
        return Some(vec![Part { name, heading, shows: Shows::Words }]);
    }
    if table.contains_key("chart") {
        let chart = chart(table, span, problems)?;
        return Some(vec![Part { name, heading, shows: Shows::Chart(chart) }]);
    }
    let report = report_part(table, span, problems)?;
    let devices = match table.get("devices") {
        Some(value) => words("digest.section.devices", value, problems),
        None => return Some(vec![Part { name, heading, shows: Shows::Report(report) }]),
    };
    let parts = devices.into_iter().map(|device| {
        let mut report = report.clone();
        report.options.insert("device".to_owned(), device.clone());
        let heading = heading.replace("{device}", &device);
        Part { name: name.clone(), heading, shows: Shows::Report(report) }
    });
    Some(parts.collect())
}

fn chart(table: &DeTable, span: Range<usize>, problems: &mut Problems) -> Option<ChartPart> {
    let key = "digest.section.chart";
    let name = needed("digest.section", "chart", table, span.clone(), problems)?;
    match chart_by_name(name) {
        Ok(NamedChart::Gpus(_)) => {}
        Ok(NamedChart::Report(_)) => {
            let words =
                format!("{key}: {name} draws a report: write report = {name:?} and drawn = true");
            problems.add(span, words);
        }
        Err(error) => problems.add(span, format!("{key}: {error}")),
    }
    let by = match table.get("by") {
        None => By::Class,
        Some(value) => {
            let word = string("digest.section.by", "a string", value, problems)?;
            let by = By::parse(word);
            if let Err(error) = &by {
                problems.add(value.span(), format!("digest.section.by: {error}"));
            }
            by.ok()?
        }
    };
    Some(ChartPart { name: name.to_owned(), by })
}

fn report_part(table: &DeTable, span: Range<usize>, problems: &mut Problems) -> Option<ReportPart> {
    let key = "digest.section";
    let analysis = analysis(key, table, span.clone(), problems)?;
    let columns = |name: &str, problems: &mut Problems| {
        let Some(value) = table.get(name) else { return Vec::new() };
        let key = format!("{key}.{name}");
        let columns = words(&key, value, problems);
        known_columns(&key, analysis, &columns, value.span(), problems);
        columns
    };
    let (shown, compare) = (columns("columns", problems), columns("compare", problems));
    let rows = match (&columns("where_equal", problems)[..], table.get("where_above_zero")) {
        ([], None) => Kept::All,
        ([one, other], None) => Kept::Equal(one.clone(), other.clone()),
        ([], Some(value)) => {
            let name = string("digest.section.where_above_zero", "a string", value, problems)?;
            let name = name.to_owned();
            let key = "digest.section.where_above_zero";
            known_columns(key, analysis, std::slice::from_ref(&name), value.span(), problems);
            Kept::AboveZero(name)
        }
        _ => {
            let words = format!("{key}.where_equal: two columns, and no where_above_zero beside");
            problems.add(span.clone(), words);
            Kept::All
        }
    };
    let options = table.get("options").map(|value| options(value, analysis, problems));
    let drawn = table.get("drawn").and_then(|it| boolean("digest.section.drawn", it, problems));
    let is_drawn = drawn == Some(true);
    if is_drawn && analysis.drawn.is_none() {
        problems.add(span, format!("{key}.drawn: the report {} has no chart", analysis.name));
    }
    Some(ReportPart {
        report: analysis.name.to_owned(),
        options: options.unwrap_or_default(),
        columns: shown,
        compare,
        rows,
        top: table
            .get("top")
            .and_then(|value| whole_number("digest.section.top", value, 1..=100_000, problems)),
        is_drawn,
    })
}

fn options(
    value: &Spanned<DeValue>,
    analysis: &Analysis,
    problems: &mut Problems,
) -> BTreeMap<String, String> {
    let DeValue::Table(table) = value.get_ref() else {
        wrong_type("digest.section.options", "a table", value, problems);
        return BTreeMap::new();
    };
    let mut options = BTreeMap::new();
    for (name, value) in table {
        let key = format!("digest.section.options.{}", name.get_ref().escape_debug());
        if let Some(text) = string(&key, "a string", value, problems) {
            options.insert(name.get_ref().to_string(), text.to_owned());
        }
    }
    // Any period will do.
    let (start, end) =
        (Timestamp::UNIX_EPOCH, Timestamp::UNIX_EPOCH + SignedDuration::from_hours(24));
    let question = Question::about(Period { start, end, zone: TimeZone::UTC });
    let question = Question { options: options.clone(), ..question };
    if let Err(error) = query::check_options(analysis, &question) {
        problems.add(value.span(), format!("digest.section.options: {error:#}"));
    }
    options
}

/// The analysis that a table's `report` names.
pub(super) fn analysis(
    key: &str,
    table: &DeTable,
    span: Range<usize>,
    problems: &mut Problems,
) -> Option<&'static Analysis> {
    let name = needed(key, "report", table, span.clone(), problems)?;
    let analysis = query::analysis(name);
    if let Err(error) = &analysis {
        let span = table.get("report").map_or(span, Spanned::span);
        problems.add(span, format!("{key}.report: {error}"));
    }
    analysis.ok()
}

/// Complains of columns that an analysis does not have.
pub(super) fn known_columns(
    key: &str,
    analysis: &Analysis,
    columns: &[String],
    span: Range<usize>,
    problems: &mut Problems,
) {
    let known: Vec<&str> = analysis.columns.iter().map(|column| column.name).collect();
    for column in columns.iter().filter(|column| !known.contains(&column.as_str())) {
        let advice = advice(column, &known);
        let words = format!("{key}: {} has no column {column:?}: {advice}", analysis.name);
        problems.add(span.clone(), words);
    }
}

/// A string that a table must have.
pub(super) fn needed<'a>(
    key: &str,
    name: &str,
    table: &'a DeTable,
    span: Range<usize>,
    problems: &mut Problems,
) -> Option<&'a str> {
    let Some(value) = table.get(name) else {
        problems.add(span, format!("{key}.{name}: missing"));
        return None;
    };
    let text = string(&format!("{key}.{name}"), "a string", value, problems)?;
    if text.is_empty() {
        problems.add(value.span(), format!("{key}.{name}: it is empty"));
    }
    Some(text)
}

/// Addresses of mail, no two of one.
pub(super) fn addresses(
    key: &str,
    value: &Spanned<DeValue>,
    problems: &mut Problems,
) -> Vec<String> {
    let addresses = words(key, value, problems);
    let mut seen = HashSet::new();
    for address in &addresses {
        if !is_mail_address(address) {
            problems.add(value.span(), format!("{key}: {address:?} is no mail address"));
        } else if !seen.insert(address) {
            problems.add(value.span(), format!("{key}: {address:?} stands here twice"));
        }
    }
    addresses
}

fn webhook(table: &DeTable, span: Range<usize>, problems: &mut Problems) -> Option<Webhook> {
    let key = "digest.webhook";
    let rest = without_secrets(key, &["url"], table, problems);
    unknown_keys(&rest, &["name", "url_file", "url_env"], problems);
    let name = needed(key, "name", table, span.clone(), problems)?.to_owned();
    let Some(url) = secret_place(key, "url", table, problems) else {
        let words =
            format!("{key}: {name:?} has no address: name a url_file or a url_env that has it");
        problems.add(span, words);
        return None;
    };
    Some(Webhook { name, url })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_as_the_file_would_have_it() {
        let digests = default_digests();
        let names: Vec<&str> = digests.digest.parts.iter().map(|part| part.name.as_str()).collect();
        assert_eq!(names.first(), Some(&"clusters"));
        assert_eq!(names.last(), Some(&"words"));
        // Who held a model stands before who held GPUs on backfill.
        let place = |name: &str| names.iter().position(|it| *it == name).unwrap();
        assert_eq!(place("device-users") + 1, place("backfill-users"));
    }
}
