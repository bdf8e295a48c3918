//! What can be said to an analysis beside the period: by what to add up, which model, when.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use jiff::{SignedDuration, Timestamp};

use crate::analysis::{Analysis, Column};
use crate::{Question, nearest, term};

/// Something that an analysis can be told.
pub struct AnalysisOption {
    /// As on the command line (`--by`) and in addresses (`?by=`).
    pub name: &'static str,
    pub meaning: &'static str,
    pub values: Values,
}

impl AnalysisOption {
    /// Whether it leaves rows out.
    pub fn is_filter(&self) -> bool {
        matches!(self.values, Values::Filter | Values::Checked(_) | Values::Device)
    }
}

/// What an option may be.
pub enum Values {
    /// One of some words; the first if none is said.
    OneOf(&'static [Alternative]),
    /// What rows must have; no limit if it is not said. In the statement `$NAME` is the text, or
    /// null.
    Filter,
    /// The same, refused if the function finds fault with it. In the statement `$NAME` has `_` in the place of
    /// each `-`.
    Checked(fn(&str) -> Result<()>),
    /// What the question is about, which must be said. In the statement `$NAME` is the text.
    Subject,
    /// A model, by any of its names or by its family; a pattern. In the statement `$NAME` is the
    /// text, or null.
    Device,
    /// A day or moment; the period's last if none is said. In the statement `$NAME` is the moment.
    Moment,
    /// A length of time such as `6h`, and what it is if none is said. In the statement `$NAME` is
    /// its seconds.
    Duration(&'static str),
    /// A whole number of things, and what it is if none is said. In the statement it is `$NAME`.
    Number(&'static str),
}

/// A word, and what it means in the statement.
pub struct Alternative {
    pub word: &'static str,
    /// What stands for what in the statement.
    pub replaces: &'static [(&'static str, &'static str)],
    /// The heading of the column that has the option's name; blank: there is no such column.
    pub heading: &'static str,
}

/// An analysis, asked with some options.
pub(crate) struct Asked<'a> {
    pub(crate) analysis: &'a Analysis,
    pub(crate) sql: String,
    /// What users said in their own words, by the name of the option: never a part of the
    /// statement's text.
    pub(crate) parameters: Vec<(&'static str, Option<String>)>,
    /// Headings that differ, by the name of the column; one that is blank is left out.
    pub(crate) headings: Vec<(&'static str, &'static str)>,
}

impl Asked<'_> {
    /// Whether it is about one job or node among all: few rows are of it, and they lie anywhere.
    pub(crate) fn seeks_few(&self) -> bool {
        let is_rare = |name: &str| ["job", "node"].contains(&name);
        self.parameters.iter().any(|(name, said)| is_rare(name) && said.is_some())
    }

    /// The heading of a column; nothing if it is left out.
    pub(crate) fn heading(&self, column: &Column) -> Option<&'static str> {
        let other = self.headings.iter().find(|(name, _)| *name == column.name);
        Some(other.map_or(column.heading, |(_, heading)| heading)).filter(|text| !text.is_empty())
    }
}

/// The analysis as it is asked; an option that it does not have, or a value that the option does
/// not have, is answered with what there is.
pub(crate) fn asked<'a>(
    analysis: &'a Analysis,
    options: &BTreeMap<String, String>,
    question: &Question,
) -> Result<Asked<'a>> {
    let names: Vec<&str> = analysis.options.iter().map(|option| option.name).collect();
    for name in options.keys() {
        if names.contains(&name.as_str()) {
            continue;
        }
        match (nearest(name, names.iter().copied()), &names[..]) {
            (Some(near), _) => {
                bail!("{} has no option {name:?}; did you mean {near:?}?", analysis.name)
            }
            (None, []) => bail!("{} has no option {name:?}, nor any other", analysis.name),
            (None, names) => {
                bail!("{} has no option {name:?}; it has {}", analysis.name, names.join(", "))
            }
        }
    }
    let period = &question.period;
    let known_end = question.known_end();
    let seconds = (known_end.as_microsecond() - period.start.as_microsecond()) as f64 / 1e6;
    let mut sql = analysis.sql.to_owned();
    let mut headings = Vec::new();
    let mut parameters = Vec::new();
    for option in analysis.options {
        let said = options.get(option.name).map(String::as_str);
        match option.values {
            Values::OneOf(alternatives) => {
                let chosen = one_of(option.name, alternatives, said)?;
                for (word, stands_for) in chosen.replaces {
                    sql = sql.replace(word, stands_for);
                }
                headings.push((option.name, chosen.heading));
            }
            Values::Subject if said.is_none() => bail!(
                "{} is about one {}: say which, as in --{} NAME",
                analysis.name,
                option.name,
                option.name
            ),
            Values::Filter | Values::Checked(_) | Values::Subject | Values::Device => {
                if let (Values::Checked(check), Some(said)) = (&option.values, said) {
                    check(said)?;
                }
                parameters.push((option.name, said.map(str::to_owned)));
            }
            Values::Moment => {
                let moment = match said {
                    Some(text) => moment(option.name, text, question)?,
                    None => Timestamp::from_microsecond(known_end.as_microsecond() - 1)
                        .context("the beginning of the calendar")?,
                };
                sql = sql.replace(&format!("${}", option.name), &term::moment(moment));
            }
            Values::Duration(unsaid) => {
                let seconds = duration(option.name, said.unwrap_or(unsaid))?;
                sql = sql.replace(&format!("${}", option.name), &format!("{seconds:?}"));
            }
            Values::Number(unsaid) => {
                let number = number(option.name, said.unwrap_or(unsaid))?;
                sql = sql.replace(&format!("${}", option.name), &number.to_string());
            }
        }
    }
    let sql = sql
        .replace("$period_seconds", &format!("nullif({seconds:?}, 0)"))
        .replace("$start", &term::moment(period.start))
        .replace("$known_end", &term::moment(known_end));
    Ok(Asked { analysis, sql, parameters, headings })
}

/// What an analysis was told, as words for people, but for what it adds up by: its columns say that.
pub(crate) fn said(analysis: &Analysis, question: &Question) -> Vec<String> {
    let said = |option: &AnalysisOption| {
        let value = question.options.get(option.name).map(String::as_str);
        let value = match option.values {
            Values::OneOf(_) => None,
            Values::Filter
            | Values::Checked(_)
            | Values::Subject
            | Values::Device
            | Values::Moment => value,
            Values::Duration(unsaid) | Values::Number(unsaid) => Some(value.unwrap_or(unsaid)),
        };
        value.map(|value| format!("{} {value}", option.name.replace('-', " ")))
    };
    analysis.options.iter().filter_map(said).collect()
}

/// The word that was said for an option that has some, or that it has if none is said.
pub(crate) fn word<'a>(analysis: &Analysis, question: &'a Question, name: &str) -> Option<&'a str> {
    let option = analysis.options.iter().find(|option| option.name == name)?;
    let Values::OneOf(alternatives) = option.values else { return None };
    match question.options.get(name) {
        Some(said) => Some(said),
        None => alternatives.first().map(|one| one.word),
    }
}

fn one_of<'a>(
    option: &str,
    alternatives: &'a [Alternative],
    said: Option<&str>,
) -> Result<&'a Alternative> {
    let Some(said) = said else {
        return alternatives.first().context("an option has alternatives");
    };
    if let Some(chosen) = alternatives.iter().find(|one| one.word == said) {
        return Ok(chosen);
    }
    let words: Vec<&str> = alternatives.iter().map(|one| one.word).collect();
    match nearest(said, words.iter().copied()) {
        Some(near) => bail!("there is no {option} {said:?}; did you mean {near:?}?"),
        None => bail!("there is no {option} {said:?}; there are {}", words.join(", ")),
    }
}

/// A length of time in seconds, which is not nothing.
fn duration(option: &str, text: &str) -> Result<f64> {
    let seconds = text
        .parse::<SignedDuration>()
        .ok()
        .map(|duration| duration.as_secs_f64())
        .filter(|seconds| *seconds > 0.0);
    seconds
        .with_context(|| format!("{option} {text:?} is no length of time; write 90m, 6h or 1h30m"))
}

/// A whole number of at least one.
fn number(option: &str, text: &str) -> Result<u32> {
    let number = text.parse::<u32>().ok().filter(|number| *number > 0);
    number.with_context(|| format!("{option} {text:?} is no number of at least 1"))
}

/// A day or a moment, in the site's zone unless it says which, within the period.
fn moment(option: &str, text: &str, question: &Question) -> Result<Timestamp> {
    let zone = &question.period.zone;
    let moment = report::moment(text, zone).map_err(|wrong| anyhow::anyhow!("{option} {wrong}"))?;
    let period = &question.period;
    if moment < period.start || moment >= question.known_end() {
        bail!(
            "{option} {text:?} lies outside of the period that is asked about, which is from {} \
             to {}",
            period.start.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M:%S %Z"),
            question.known_end().to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M:%S %Z"),
        );
    }
    Ok(moment)
}
