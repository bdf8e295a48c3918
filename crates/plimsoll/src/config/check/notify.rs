//! `[notify]`: who gets a letter about waste, how often, and when not.

use std::ops::Range;

use jiff::civil::{Date, Weekday};
use query::Analysis;
use source::is_mail_address;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::super::{Notify, Rule, ShareOf};
use super::digest::{analysis, known_columns, needed, tables};
use super::{Problems, above_zero, advice, string, unknown_keys, whole_number, words, wrong_type};

/// The rules of a site that has none of its own.
const DEFAULT: &str = include_str!("../default/notify.toml");

/// What holds where the file says nothing else.
pub(in super::super) fn default_notify() -> Notify {
    let mut problems = Problems::default();
    let document = DeTable::parse(DEFAULT).expect("the default is TOML");
    let value = document.get_ref().get("notify").expect("the default has a [notify]");
    let notify = read(value, Notify::nothing(), &mut problems);
    debug_assert!(problems.found.is_empty(), "{:?}", problems.found);
    notify
}

pub(super) fn notify(value: &Spanned<DeValue>, problems: &mut Problems) -> Notify {
    read(value, default_notify(), problems)
}

fn read(value: &Spanned<DeValue>, mut notify: Notify, problems: &mut Problems) -> Notify {
    let DeValue::Table(table) = value.get_ref() else {
        wrong_type("notify", "a table ([notify])", value, problems);
        return notify;
    };
    const KEYS: [&str; 9] = [
        "address",
        "days",
        "cadence_days",
        "quiet_days",
        "quiet_hours",
        "quiet_dates",
        "excluded_users",
        "footer",
        "rule",
    ];
    unknown_keys(table, &KEYS, problems);
    let days = |name: &str, unsaid, problems: &mut Problems| {
        let said = table
            .get(name)
            .and_then(|it| whole_number(&format!("notify.{name}"), it, 1..=366, problems));
        said.map_or(unsaid, |days| u16::try_from(days).unwrap_or(unsaid))
    };
    notify.days = days("days", notify.days, problems);
    notify.cadence_days = days("cadence_days", notify.cadence_days, problems);
    if let Some(value) = table.get("address") {
        notify.address = address(value, problems);
    }
    if let Some(value) = table.get("footer") {
        notify.footer = string("notify.footer", "a string", value, problems).map(str::to_owned);
    }
    if let Some(value) = table.get("excluded_users") {
        notify.excluded_users = words("notify.excluded_users", value, problems);
    }
    notify.quiet_days = each("quiet_days", table, problems, weekday);
    notify.quiet_dates = each("quiet_dates", table, problems, dates);
    if let Some(value) = table.get("quiet_hours") {
        notify.quiet_hours = quiet_hours(value, problems);
    }
    for (rule, _) in tables("notify.rule", table.get("rule"), problems, rule) {
        match notify.rules.iter_mut().find(|known| known.name == rule.name) {
            Some(known) => *known = rule,
            None => notify.rules.push(rule),
        }
    }
    notify
}

/// A pattern such as `{user}@example.org`.
fn address(value: &Spanned<DeValue>, problems: &mut Problems) -> Option<String> {
    let pattern = string("notify.address", "a string", value, problems)?;
    if !pattern.contains("{user}") || !is_mail_address(&pattern.replace("{user}", "ann")) {
        let words = format!("notify.address: {pattern:?}: write \"{{user}}@example.org\"");
        problems.add(value.span(), words);
    }
    Some(pattern.to_owned())
}

/// What each of a list of words means.
fn each<T>(
    name: &str,
    table: &DeTable,
    problems: &mut Problems,
    read: fn(&str) -> Result<T, String>,
) -> Vec<T> {
    let Some(value) = table.get(name) else { return Vec::new() };
    let key = format!("notify.{name}");
    let mut all = Vec::new();
    for word in words(&key, value, problems) {
        match read(&word) {
            Ok(read) => all.push(read),
            Err(wrong) => problems.add(value.span(), format!("{key}: {word:?} {wrong}")),
        }
    }
    all
}

fn weekday(word: &str) -> Result<Weekday, String> {
    const DAYS: [(&str, Weekday); 7] = [
        ("Monday", Weekday::Monday),
        ("Tuesday", Weekday::Tuesday),
        ("Wednesday", Weekday::Wednesday),
        ("Thursday", Weekday::Thursday),
        ("Friday", Weekday::Friday),
        ("Saturday", Weekday::Saturday),
        ("Sunday", Weekday::Sunday),
    ];
    let day = DAYS.iter().find(|(name, _)| name.eq_ignore_ascii_case(word));
    day.map(|(_, day)| *day)
        .ok_or_else(|| format!("is no day: {}", advice(word, &DAYS.map(|(name, _)| name))))
}

/// The first and the last day of a time, or one day.
fn dates(word: &str) -> Result<(Date, Date), String> {
    let (first, last) = word.split_once("..").unwrap_or((word, word));
    match (first.parse(), last.parse()) {
        (Ok(first), Ok(last)) if first <= last => Ok((first, last)),
        _ => Err("is no time of days: write \"2026-12-24..2027-01-02\"".to_owned()),
    }
}

/// From an hour of the day to another, over midnight if the first is the later one.
fn quiet_hours(value: &Spanned<DeValue>, problems: &mut Problems) -> Option<(i8, i8)> {
    let written = string("notify.quiet_hours", "a string such as \"18-8\"", value, problems)?;
    let hour = |text: &str| text.trim().parse::<i8>().ok().filter(|hour| (0..=24).contains(hour));
    let hours = written.split_once('-').and_then(|(from, to)| Some((hour(from)?, hour(to)?)));
    if hours.is_none() {
        let words = format!("notify.quiet_hours: {written:?}: write two hours, such as \"18-8\"");
        problems.add(value.span(), words);
    }
    hours
}

fn rule(table: &DeTable, span: Range<usize>, problems: &mut Problems) -> Option<Rule> {
    const KEYS: [&str; 8] = ["name", "report", "amount", "floor", "share", "of", "ratio", "words"];
    let key = "notify.rule";
    unknown_keys(table, &KEYS, problems);
    let name = needed(key, "name", table, span.clone(), problems)?.to_owned();
    let analysis = analysis(key, table, span.clone(), problems)?;
    if !analysis.columns.iter().any(|column| column.name == "user") {
        let words = format!("{key}.report: {} has no column \"user\"", analysis.name);
        problems.add(span.clone(), words);
    }
    let amount = column("amount", analysis, table, span.clone(), problems)?;
    let share = match (table.get("share"), table.get("of")) {
        (Some(_), None) => {
            ShareOf::Column(column("share", analysis, table, span.clone(), problems)?)
        }
        (None, Some(_)) => ShareOf::Whole(column("of", analysis, table, span.clone(), problems)?),
        _ => {
            let words = format!(
                "{key}: {name:?}: name the column of the share in percent (share), or of what the \
                 amount is a part of (of)"
            );
            problems.add(span, words);
            return None;
        }
    };
    let number = |name: &str, problems: &mut Problems| {
        if !table.contains_key(name) {
            problems.add(span.clone(), format!("{key}.{name}: missing"));
        }
        above_zero(&format!("{key}.{name}"), name, table, problems)
    };
    let (floor, ratio) = (number("floor", problems), number("ratio", problems));
    if let (Some(ratio), Some(value)) = (ratio, table.get("ratio"))
        && ratio > 1.0
    {
        problems.add(value.span(), format!("{key}.ratio: a part of one, such as 0.75"));
    }
    let words = needed(key, "words", table, span.clone(), problems)?.to_owned();
    let report = analysis.name.to_owned();
    Some(Rule { name, report, amount, floor: floor?, share, ratio: ratio?, words })
}

fn column(
    name: &str,
    analysis: &Analysis,
    table: &DeTable,
    span: Range<usize>,
    problems: &mut Problems,
) -> Option<String> {
    let key = "notify.rule";
    let column = needed(key, name, table, span.clone(), problems)?.to_owned();
    let span = table.get(name).map_or(span, Spanned::span);
    known_columns(
        &format!("{key}.{name}"),
        analysis,
        std::slice::from_ref(&column),
        span,
        problems,
    );
    Some(column)
}
