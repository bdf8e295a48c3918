//! A bar for each row of a table.

use anyhow::Result;
use jiff::civil::Date;
use report::{Amount, Band, Bars, Drawing, Group, Kind, Layout, Part, Value};

use super::{Answer, Shown, largest};

/// Which columns of a table are bars.
pub struct DrawnBars {
    /// The columns that name a row, set apart by a slash.
    pub labels: &'static [&'static str],
    /// Whether rows that are called `all` are sums over the others.
    pub has_sums: bool,
    /// What the amounts are.
    pub heading: &'static str,
    pub layout: Layout,
    pub parts: &'static [DrawnPart],
}

/// A column that is part of each bar.
pub struct DrawnPart {
    pub column: &'static str,
    /// What the legend calls it.
    pub name: &'static str,
    pub kind: Kind,
    /// The columns of the lower and the upper end of its confidence band.
    pub band: Option<[&'static str; 2]>,
}

impl DrawnPart {
    pub(crate) const fn new(column: &'static str, name: &'static str, kind: Kind) -> DrawnPart {
        DrawnPart { column, name, kind, band: None }
    }
}

/// More bars than this are not read.
pub(super) const MOST_BARS: usize = 24;

/// What a table can be added up by that has an order of its own.
const SEQUENCES: [&str; 3] = ["hour", "day", "date"];

/// In a sum over all of a column.
const ALL: &str = "all";

pub(super) fn draw(drawn: &DrawnBars, answer: &Answer<'_>) -> Result<Shown> {
    let labels = places(answer, drawn.labels)?;
    let mut columns = Vec::new();
    for part in drawn.parts {
        let band = part.band.map(|names| places(answer, &names)).transpose()?;
        columns.push((answer.place(part.column)?, band));
    }
    let is_sequence = drawn.labels.iter().all(|label| SEQUENCES.contains(&answer.word(label)));
    // A sum would dwarf its parts; where lengths are compared it is one more to compare with.
    let leaves_out_sums = drawn.has_sums && (is_sequence || drawn.layout == Layout::Stacked);
    let is_sum = |row: &[Value]| {
        labels.iter().any(|place| matches!(&row[*place], Value::Text(text) if text == ALL))
    };
    let rows = answer.table.rows.iter().filter(|row| !(leaves_out_sums && is_sum(row)));
    let groups: Vec<Group> = rows
        .map(|row| Group {
            label: label(answer, row, &labels),
            amounts: columns.iter().map(|(place, band)| amount(row, *place, band)).collect(),
        })
        .collect();
    let (groups, note) = match is_sequence {
        true => (with_missing_days(groups), None),
        false => most(groups, drawn, answer)?,
    };

    let headings: Vec<&str> = labels.iter().map(|place| answer.heading(*place)).collect();
    let words = drawn.labels.iter().zip(&labels);
    let words: Vec<String> =
        words.map(|(name, place)| answer.word_in_a_sentence(name, *place)).collect();
    let subtitle = format!("{}, by {}", drawn.heading, words.join(" and "));
    let bars = Bars {
        label_heading: headings.join("/"),
        heading: drawn.heading.to_owned(),
        unit: answer.unit(answer.place(drawn.parts[0].column)?),
        is_sequence,
        layout: drawn.layout,
        parts: drawn
            .parts
            .iter()
            .map(|part| Part { name: part.name.to_owned(), kind: part.kind })
            .collect(),
        groups,
    };
    Ok(Shown { drawing: Drawing::Bars(bars), subtitle, notes: note.into_iter().collect() })
}

fn places(answer: &Answer<'_>, names: &[&str]) -> Result<Vec<usize>> {
    names.iter().map(|name| answer.place(name)).collect()
}

fn label(answer: &Answer<'_>, row: &[Value], places: &[usize]) -> String {
    let words: Vec<String> = places.iter().map(|place| answer.label(row, *place)).collect();
    words.join("/")
}

fn amount(row: &[Value], place: usize, band: &Option<Vec<usize>>) -> Amount {
    let ends = band.iter().flatten().map(|place| row[*place].number()).collect::<Option<Vec<_>>>();
    let band = match ends.as_deref() {
        Some(&[lower, upper]) => Some(Band { lower, upper }),
        _ => None,
    };
    Amount { value: row[place].number(), band }
}

/// Days of which the table says nothing have a place, and nothing is known of them.
fn with_missing_days(groups: Vec<Group>) -> Vec<Group> {
    let mut all: Vec<Group> = Vec::with_capacity(groups.len());
    for group in groups {
        let day = |group: &Group| group.label.parse::<Date>().ok();
        while let (Some(last), Some(next)) = (all.last(), day(&group))
            && let Some(missing) = day(last).and_then(|day| day.tomorrow().ok())
            && missing < next
        {
            let unknown = Amount { value: None, band: None };
            let amounts = vec![unknown; last.amounts.len()];
            all.push(Group { label: missing.to_string(), amounts });
        }
        all.push(group);
    }
    all
}

/// Where there are too many, the largest, or where they are not amounts that add up the first ones;
/// and what is to be said of the others. A bar of these together would dwarf the rest.
fn most(groups: Vec<Group>, drawn: &DrawnBars, answer: &Answer<'_>) -> Result<Kept> {
    let (of, name) = (groups.len(), answer.analysis.name);
    if of <= MOST_BARS {
        return Ok((groups, None));
    }
    if drawn.layout == Layout::Beside {
        let note = format!("The first {MOST_BARS} of {of} rows of {name}.");
        return Ok((groups.into_iter().take(MOST_BARS).collect(), Some(note)));
    }
    let totals: Vec<f64> =
        groups.iter().map(|group| group.total().unwrap_or(f64::NEG_INFINITY)).collect();
    let (largest, others) = largest(&totals, MOST_BARS);
    let mut note = format!("The {MOST_BARS} largest of {of} rows of {name}");
    if let Some(sum) = others.iter().map(|place| groups[*place].total()).sum::<Option<f64>>() {
        let unit = answer.unit(answer.place(drawn.parts[0].column)?);
        let sum = unit.show(&Value::Number(sum), &answer.question.period.zone);
        note += &format!("; the {} others have {sum} {} together", others.len(), drawn.heading);
    }
    note.push('.');
    Ok((largest.iter().map(|place| groups[*place].clone()).collect(), Some(note)))
}

/// What is drawn, and what is to be said of the rest.
type Kept = (Vec<Group>, Option<String>);
