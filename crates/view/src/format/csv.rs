//! Comma-separated values (RFC 4180), for spreadsheets and programs.
//!
//! Lines end with a line feed alone: every reader takes it, and `diff` and `grep` like it better.
//!
//! Text goes out as it is, even where it begins with `=`, `+`, `-` or `@` and a spreadsheet
//! would take it for a formula. A guard such as a leading apostrophe would make it another
//! name: it would no longer join with the scheduler's own data, and no guard holds for every
//! spreadsheet. Who opens a file with strangers' job names in a spreadsheet imports the column
//! as text, or takes the HTML.

use report::{Report, Value};

use super::{Format, Look, one_below_the_other};
use crate::raw;

pub(super) struct Csv;

impl Format for Csv {
    fn name(&self) -> &'static str {
        "csv"
    }

    fn meaning(&self) -> &'static str {
        "The table alone, raw values, unknown as an empty cell; CSV has no place for the period, \
         the coverage and the notes, so take JSON where they matter"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["csv"]
    }

    fn media_type(&self) -> &'static str {
        "text/csv; charset=utf-8; header=present"
    }

    fn render(&self, reports: &[Report], _look: &Look) -> Vec<u8> {
        one_below_the_other(reports, write)
    }
}

fn write(report: &Report) -> Vec<u8> {
    let names = raw::column_names(&report.table);
    let mut text = String::new();
    write_line(&mut text, names);
    for row in &report.table.rows {
        write_line(&mut text, row.iter().map(cell));
    }
    text.into_bytes()
}

pub(crate) fn write_line(text: &mut String, cells: impl IntoIterator<Item = String>) {
    let start = text.len();
    for (index, cell) in cells.into_iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        text.push_str(&quoted(cell));
    }
    if text.len() == start {
        text.push_str("\"\""); // readers pass over a blank line, and would lose the row
    }
    text.push('\n');
}

fn cell(value: &Value) -> String {
    match value {
        Value::Unknown => String::new(),
        Value::Text(text) => text.clone(),
        Value::Integer(number) => number.to_string(),
        // The shortest decimal that reads back as the same number.
        Value::Number(number) => format!("{number:?}"),
        Value::Boolean(yes) => yes.to_string(),
        Value::Time(time) => time.to_string(),
        Value::Date(date) => date.to_string(),
    }
}

fn quoted(cell: String) -> String {
    if cell.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell
    }
}
