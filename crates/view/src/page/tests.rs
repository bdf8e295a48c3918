use jiff::tz::TimeZone;
use report::{Column, Coverage, Period};

use super::*;

fn report() -> Report {
    let column = |name: &str, heading: &str, unit| Column {
        name: name.to_owned(),
        heading: heading.to_owned(),
        unit,
    };
    let moment = "2026-01-01T00:00:00Z".parse().unwrap();
    Report {
        name: "hours".to_owned(),
        title: "Who?".to_owned(),
        period: Period { start: moment, end: moment, zone: TimeZone::UTC },
        coverage: Coverage::default(),
        table: Table {
            columns: vec![
                column("user", "User", Unit::Label),
                column("hours", "Hours", Unit::Hours),
            ],
            rows: vec![
                vec![Value::Text("<b>".to_owned()), Value::Number(1.0)],
                vec![Value::Unknown, Value::Unknown],
            ],
        },
        charts: Vec::new(),
        notes: Vec::new(),
    }
}

/// The table of a piece in which names lead somewhere.
fn check(layout: Layout, table: &str) {
    let report = report();
    let link = |table: &Table, row: usize, column: usize| match &table.rows[row][column] {
        Value::Text(name) => Some(format!("users/?\"{name}")),
        _ => None,
    };
    let html =
        Piece { report: &report, heading: None, id: "hours", layout, link: &link, formats: &[] }
            .html();
    let (_, rest) = html.split_once("<table").unwrap();
    let (found, _) = rest.split_once("</table>").unwrap();
    assert_eq!(found.replace('\n', ""), table);
}

#[test]
fn names_lead_to_their_pages_and_are_escaped() {
    check(
        Layout::Rows,
        " class=\"n2\"><thead><tr><th scope=\"col\">User</th><th scope=\"col\">Hours</th></tr></thead>\
         <tbody><tr><th scope=\"row\"><a href=\"users/?&quot;&lt;b&gt;\">&lt;b&gt;</a></th>\
         <td>1.0</td></tr>\
         <tr><th scope=\"row\">-</th><td>-</td></tr></tbody>",
    );
}

#[test]
fn few_rows_of_many_columns_lie_sideways() {
    check(
        Layout::Sideways,
        " class=\"sideways\"><tbody>\
         <tr><th scope=\"row\">User</th><td><a href=\"users/?&quot;&lt;b&gt;\">&lt;b&gt;</a></td><td>-</td></tr>\
         <tr><th scope=\"row\">Hours</th><td class=\"number\">1.0</td><td class=\"number\">-</td></tr></tbody>",
    );
}

#[test]
fn a_brief_table_has_some_columns_and_all_of_them_behind_a_detail() {
    check(
        Layout::Brief(&["hours"]),
        " class=\"n1\"><thead><tr><th scope=\"col\">Hours</th></tr></thead>\
         <tbody><tr><td>1.0</td></tr>\
         <tr><td>-</td></tr></tbody>",
    );
    let link = |_: &Table, _: usize, _: usize| None;
    let (report, layout) = (report(), Layout::Brief(&["hours"]));
    let piece =
        Piece { report: &report, heading: None, id: "hours", layout, link: &link, formats: &[] };
    let html = piece.html();
    let (_, detail) = html.split_once("<summary>All 2 columns</summary>").unwrap();
    assert!(detail.contains("<th scope=\"col\">User</th>"), "{detail}");
}

#[test]
fn columns_of_numbers_and_times_are_styled_by_their_positions() {
    let mut report = report();
    let hours = report.table.columns[1].clone();
    report.table.columns.extend(vec![hours; STYLED_COLUMNS]);
    report.table.columns[1].unit = Unit::Time;
    for row in &mut report.table.rows {
        row.extend(vec![Value::Unknown; STYLED_COLUMNS]);
    }
    let places = all(&report.table);
    let classes = column_classes(&report.table, &places).unwrap();
    assert!(classes.starts_with("m2 n3 n4 ") && classes.ends_with(" n24"), "{classes}");
    assert_eq!(cell_class(Unit::Hours, 23), None);
    assert_eq!(cell_class(Unit::Hours, 24), Some("number"));
    let style = page_style();
    for rule in [".n1 tr>:nth-child(1)", ".n24 tr>:nth-child(24)", ".m24 tr>:nth-child(24)"] {
        assert!(style.contains(rule), "{rule}");
    }
}

#[test]
fn style_and_script_are_small() {
    assert!(page_style().len() + page_script().len() < 22 * 1024);
}
