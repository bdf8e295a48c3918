//! One column of a table, as bars.

use crate::{Table, Unit, Value};

/// The rows of a table that have most in one column. Nothing is computed: it is a choice of
/// cells.
#[derive(Clone, Debug, PartialEq)]
pub struct BarChart {
    /// The column's heading.
    pub heading: String,
    /// What the bars are of.
    pub unit: Unit,
    /// What the labels are.
    pub label_unit: Unit,
    pub bars: Vec<Bar>,
    /// How many bars there would be if none were left out.
    pub of: usize,
}

/// One bar.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    pub label: Value,
    /// What is shown.
    pub value: Value,
    /// The same, as a length.
    pub length: f64,
}

impl BarChart {
    /// The `top` largest values of a column: the largest first, but days in their order, the last
    /// ones. A row is labelled by what stands before its first number, such as the node of a
    /// cluster. A value that is unknown has no bar; where no value is above zero there is nothing
    /// to draw.
    pub fn of_column(table: &Table, column: &str, top: usize) -> Option<BarChart> {
        let index = table.columns.iter().position(|known| known.name == column)?;
        let first_number = table.columns.iter().position(|column| column.unit.is_numeric())?;
        let label_index = first_number.saturating_sub(1);
        let (label_column, column) = (&table.columns[label_index], &table.columns[index]);
        let mut bars: Vec<Bar> = table
            .rows
            .iter()
            .filter_map(|row| {
                let (label, value) = (row.get(label_index)?.clone(), row.get(index)?.clone());
                let length = length(&value)?;
                Some(Bar { label, value, length })
            })
            .collect();
        if !bars.iter().any(|bar| bar.length > 0.0) {
            return None;
        }
        let of = bars.len();
        if label_column.unit == Unit::Date {
            bars.drain(..of.saturating_sub(top));
        } else {
            bars.sort_by(|one, other| other.length.total_cmp(&one.length));
            bars.truncate(top);
        }
        let (heading, unit) = (column.heading.clone(), column.unit);
        Some(BarChart { heading, unit, label_unit: label_column.unit, bars, of })
    }
}

fn length(value: &Value) -> Option<f64> {
    value.number().filter(|length| length.is_finite()).map(|length| length.max(0.0))
}

#[cfg(test)]
mod tests {
    use crate::Column;

    use super::*;

    fn table(label: Unit, rows: &[(&str, Value)]) -> Table {
        let column = |name: &str, unit| Column { name: name.into(), heading: name.into(), unit };
        let label_of = |text: &str| match label {
            Unit::Date => Value::Date(text.parse().unwrap()),
            _ => Value::Text(text.into()),
        };
        Table {
            columns: vec![column("user", label), column("cpu_hours", Unit::Hours)],
            rows: rows.iter().map(|(name, value)| vec![label_of(name), value.clone()]).collect(),
        }
    }

    fn check(label: Unit, rows: &[(&str, Value)], top: usize, labels: &[&str], of: usize) {
        let chart = BarChart::of_column(&table(label, rows), "cpu_hours", top).unwrap();
        let shown: Vec<String> =
            chart.bars.iter().map(|bar| label.show(&bar.label, &jiff::tz::TimeZone::UTC)).collect();
        assert_eq!(
            (shown.iter().map(String::as_str).collect::<Vec<_>>(), chart.of),
            (labels.into(), of)
        );
    }

    #[test]
    fn the_largest_come_first_and_unknown_is_no_bar() {
        let rows = [
            ("ann", Value::Number(1.0)),
            ("bob", Value::Unknown),
            ("cat", Value::Integer(3)),
            ("dan", Value::Number(1.0)),
        ];
        check(Unit::Label, &rows, 9, &["cat", "ann", "dan"], 3);
        check(Unit::Label, &rows, 2, &["cat", "ann"], 3);
    }

    #[test]
    fn days_stay_in_order_and_the_last_ones_are_shown() {
        let rows = [
            ("2026-01-01", Value::Number(3.0)),
            ("2026-01-02", Value::Number(1.0)),
            ("2026-01-03", Value::Number(2.0)),
        ];
        check(Unit::Date, &rows, 2, &["2026-01-02", "2026-01-03"], 3);
    }

    #[test]
    fn a_row_is_labelled_by_what_stands_before_its_numbers() {
        let mut nodes = table(Unit::Label, &[("n1", Value::Number(1.0))]);
        let cluster =
            Column { name: "cluster".into(), heading: "Cluster".into(), unit: Unit::Label };
        nodes.columns.insert(0, cluster);
        nodes.rows[0].insert(0, Value::Text("maple".into()));
        let chart = BarChart::of_column(&nodes, "cpu_hours", 9).unwrap();
        assert_eq!(chart.bars[0].label, Value::Text("n1".into()));
    }

    #[test]
    fn where_nothing_is_above_zero_there_is_no_chart() {
        let rows = [("ann", Value::Number(0.0)), ("bob", Value::Unknown)];
        assert_eq!(BarChart::of_column(&table(Unit::Label, &rows), "cpu_hours", 9), None);
        assert_eq!(BarChart::of_column(&table(Unit::Label, &rows), "gpu_hours", 9), None);
    }
}
