//! Names that do not tell who somebody is, and are always the same for the same user.

use report::{Table, Value};

/// Puts pseudonyms in the place of users. What stands for all of them stays.
pub(crate) fn put_in(table: &mut Table) {
    for (place, column) in table.columns.iter().enumerate() {
        if column.name != "user" {
            continue;
        }
        for row in &mut table.rows {
            if let Value::Text(user) = &mut row[place]
                && user != ALL
            {
                *user = pseudonym(user);
            }
        }
    }
}

/// In a sum over all users.
const ALL: &str = "all";

/// By FNV-1a, in 48 of its bits: who has a list of users can find out which is which, who has a
/// report alone cannot.
pub(crate) fn pseudonym(user: &str) -> String {
    let hash = user.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    format!("user-{:012x}", hash >> 16)
}

#[cfg(test)]
mod tests {
    use report::{Column, Unit};

    use super::*;

    /// FNV-1a of `a` is af63dc4c8601ec8c (the specification's own test value).
    #[test]
    fn a_user_always_has_the_same_pseudonym() {
        let column =
            |name: &str| Column { name: name.into(), heading: name.into(), unit: Unit::Label };
        let text = |text: &str| Value::Text(text.into());
        let mut table = Table {
            columns: vec![column("class"), column("user")],
            rows: vec![
                vec![text("a"), text("a")],
                vec![text("a"), text("all")],
                vec![text("a"), Value::Unknown],
            ],
        };
        put_in(&mut table);
        assert_eq!(
            table.rows,
            [
                [text("a"), text("user-af63dc4c8601")],
                [text("a"), text("all")],
                [text("a"), Value::Unknown],
            ]
        );
    }
}
