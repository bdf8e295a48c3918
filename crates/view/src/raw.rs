//! Names and values as programs read them.

use std::collections::HashSet;

use report::Table;

/// A name for each column, no two alike: a user's SQL may give two columns one name, and the
/// later one is then called `name_2`. A name that stands alone is never changed.
pub(crate) fn column_names(table: &Table) -> Vec<String> {
    let mut taken: HashSet<String> =
        table.columns.iter().map(|column| column.name.clone()).collect();
    let mut seen = HashSet::new();
    let mut names = Vec::with_capacity(table.columns.len());
    for column in &table.columns {
        if seen.insert(column.name.as_str()) {
            names.push(column.name.clone());
            continue;
        }
        let name = (2..)
            .map(|number| format!("{}_{number}", column.name))
            .find(|name| !taken.contains(name))
            .expect("there are more numbers than columns");
        taken.insert(name.clone());
        names.push(name);
    }
    names
}

#[cfg(test)]
mod tests {
    use report::{Column, Unit};

    use super::*;

    fn check(names: &[&str], unique: &[&str]) {
        let columns = names
            .iter()
            .map(|&name| Column { name: name.into(), heading: name.into(), unit: Unit::Plain })
            .collect();
        assert_eq!(column_names(&Table { columns, rows: Vec::new() }), unique);
    }

    #[test]
    fn a_repeated_name_is_numbered() {
        check(&["user", "count", "user", "user"], &["user", "count", "user_2", "user_3"]);
    }

    #[test]
    fn a_numbered_name_does_not_meet_a_column_of_that_name() {
        check(&["a", "a", "a_2"], &["a", "a_3", "a_2"]);
    }
}
