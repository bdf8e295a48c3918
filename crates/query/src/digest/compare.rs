//! The numbers of a period beside those of the period before it.

use std::collections::HashMap;

use report::{Column, Table, Unit, Value};

/// Puts two columns beside each that is compared: what it was before, and by how much it changed. A
/// row is the one before that has the same names. A percentage changes by percentage points, any other
/// number by percent of what it was. The two have headings and units of their own.
pub(super) fn put_beside(table: &mut Table, before: &Table, compared: &[String]) {
    let earlier: HashMap<Vec<String>, &Vec<Value>> =
        before.rows.iter().map(|row| (names(before, row), row)).collect();
    for name in compared {
        let place_of = |table: &Table| table.columns.iter().position(|it| it.name == *name);
        let (Some(place), Some(place_before)) = (place_of(table), place_of(before)) else {
            continue;
        };
        let unit = table.columns[place].unit;
        let beside: Vec<[Value; 2]> = table
            .rows
            .iter()
            .map(|row| {
                let was = earlier.get(&names(table, row)).map(|row| row[place_before].clone());
                let was = was.unwrap_or(Value::Unknown);
                let change = change(unit, &was, &row[place]);
                [was, change]
            })
            .collect();
        let column = |ending: &str, heading: &str, unit| Column {
            name: format!("{name}_{ending}"),
            heading: heading.to_owned(),
            unit,
        };
        let change = match unit {
            Unit::Percent => column("change", CHANGE_IN_POINTS, Unit::PercentagePoints),
            _ => column("change", CHANGE_IN_PERCENT, Unit::Percent),
        };
        let columns = [column("before", BEFORE, unit), change];
        table.columns.splice(place + 1..place + 1, columns);
        for (row, beside) in table.rows.iter_mut().zip(beside) {
            row.splice(place + 1..place + 1, beside);
        }
    }
}

/// The headings of what stands beside a column, and what they mean.
const BEFORE: &str = "before";
const CHANGE_IN_PERCENT: &str = "change %";
const CHANGE_IN_POINTS: &str = "change (points)";
pub(super) const MEANINGS: [(&str, &str); 3] = [
    (
        BEFORE,
        "The same number in the period before, which is as long and ends where this one begins; a dash where it is not known.",
    ),
    (CHANGE_IN_PERCENT, "The difference from the period before, in percent of the value before."),
    (
        CHANGE_IN_POINTS,
        "The difference from the period before, in percentage points: 60 % after 50 % is 10 points.",
    ),
];

/// What stands in the columns of names: of two periods, rows with the same ones are compared.
fn names(table: &Table, row: &[Value]) -> Vec<String> {
    let cells = table.columns.iter().zip(row);
    let labels = cells.filter(|(column, _)| column.unit == Unit::Label);
    labels.map(|(_, value)| Unit::Label.show(value, &jiff::tz::TimeZone::UTC)).collect()
}

fn change(unit: Unit, was: &Value, is: &Value) -> Value {
    let (Some(was), Some(is)) = (was.number(), is.number()) else { return Value::Unknown };
    match unit {
        Unit::Percent => Value::Number(is - was),
        _ if was == 0.0 => Value::Unknown,
        _ => Value::Number(100.0 * (is - was) / was),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &[(&str, Option<f64>, f64)]) -> Table {
        let column = |name: &str, unit| Column { name: name.into(), heading: name.into(), unit };
        Table {
            columns: vec![
                column("class", Unit::Label),
                column("share", Unit::Percent),
                column("hours", Unit::Hours),
            ],
            rows: rows
                .iter()
                .map(|(class, share, hours)| {
                    let share = share.map_or(Value::Unknown, Value::Number);
                    vec![Value::Text((*class).to_owned()), share, Value::Number(*hours)]
                })
                .collect(),
        }
    }

    #[test]
    fn a_share_changes_by_points_and_an_amount_by_percent() {
        let mut now =
            table(&[("a", Some(60.0), 150.0), ("b", None, 10.0), ("new", Some(5.0), 1.0)]);
        let before = table(&[("b", Some(30.0), 0.0), ("a", Some(50.0), 100.0)]);
        put_beside(&mut now, &before, &["share".to_owned(), "hours".to_owned()]);
        let names: Vec<&str> = now.columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "class",
                "share",
                "share_before",
                "share_change",
                "hours",
                "hours_before",
                "hours_change"
            ]
        );
        let shown: Vec<String> = now
            .rows
            .iter()
            .map(|row| {
                let cells = now.columns.iter().zip(row);
                let cells =
                    cells.map(|(column, it)| column.unit.show(it, &jiff::tz::TimeZone::UTC));
                cells.collect::<Vec<_>>().join(" ")
            })
            .collect();
        let headings: Vec<(&str, Unit)> =
            now.columns.iter().map(|column| (column.heading.as_str(), column.unit)).collect();
        assert_eq!(headings[3], ("change (points)", Unit::PercentagePoints));
        assert_eq!(headings[6], ("change %", Unit::Percent));
        // 60 % after 50 % are ten points more; 150 h after 100 h are half more. Nothing is known of
        // the share of b, what was nothing has not grown by any percentage, and what was not there
        // is not known.
        assert_eq!(
            shown,
            ["a 60.0 50.0 10.0 150.0 100.0 50.0", "b - 30.0 - 10.0 0.0 -", "new 5.0 - - 1.0 - -"]
        );
    }
}
