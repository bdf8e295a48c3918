//! Names that do not tell who somebody is, and are always the same for the same user.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use report::{Table, Value};
use ring::hmac;

/// Puts pseudonyms in the place of users: in their own column, and in what the table is added up
/// by, where that names them. What stands for all of them stays.
pub(crate) fn put_in(table: &mut Table, added_up_by: Option<&str>) {
    for (place, column) in table.columns.iter().enumerate() {
        let hidden: fn(&str) -> String = match (column.name.as_str(), added_up_by) {
            ("user", _) | ("by", Some("user" | "evictor")) => pseudonym,
            // A job is named by its user and its id, which has no blank.
            ("by", Some("job")) => |text| match text.rsplit_once(' ') {
                Some((user, job)) => format!("{} {job}", pseudonym(user)),
                None => pseudonym(text),
            },
            _ => continue,
        };
        for row in &mut table.rows {
            if let Value::Text(text) = &mut row[place]
                && text != ALL
            {
                *text = hidden(text);
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

/// What pseudonyms for others than staff are made with: who does not have it cannot find out whom
/// one stands for, with a list of all users in hand.
#[derive(Clone, Debug)]
pub struct Secret(Arc<hmac::Key>);

/// A secret is one as long as it is the same place in memory: what it is made of cannot be had back.
impl PartialEq for Secret {
    fn eq(&self, other: &Secret) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Secret {}

impl Hash for Secret {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        Arc::as_ptr(&self.0).hash(hasher);
    }
}

impl Secret {
    pub fn new(bytes: &[u8]) -> Secret {
        Secret(Arc::new(hmac::Key::new(hmac::HMAC_SHA256, bytes)))
    }

    /// In the place of a name of some kind. Of a task of an array (`16_5`) the array's part is
    /// put in place, so that tasks stay together.
    pub(crate) fn pseudonym(&self, kind: &str, name: &str) -> String {
        let (name, task) = match name.find('_').filter(|_| kind == "job") {
            Some(place) => name.split_at(place),
            None => (name, ""),
        };
        let tag = hmac::sign(&self.0, format!("{kind} {name}").as_bytes());
        let digits: String = tag.as_ref()[..6].iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{kind}-{digits}{task}")
    }
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
        put_in(&mut table, None);
        assert_eq!(
            table.rows,
            [
                [text("a"), text("user-af63dc4c8601")],
                [text("a"), text("all")],
                [text("a"), Value::Unknown],
            ]
        );
    }

    #[test]
    fn what_a_table_is_added_up_by_may_name_users_too() {
        let check = |by: &str, shown: &str, expected: &str| {
            let column = Column { name: "by".into(), heading: "By".into(), unit: Unit::Label };
            let mut table =
                Table { columns: vec![column], rows: vec![vec![Value::Text(shown.into())]] };
            put_in(&mut table, Some(by));
            assert_eq!(table.rows, [[Value::Text(expected.into())]], "{by}");
        };
        check("user", "a", "user-af63dc4c8601");
        check("evictor", "a", "user-af63dc4c8601");
        check("job", "a ap1#5.0", "user-af63dc4c8601 ap1#5.0");
        check("user", "all", "all");
        check("device", "a", "a");
    }

    /// HMAC-SHA-256 under the key `Jefe` of `what do ya want for nothing?` begins 5bdcc146bf60
    /// (RFC 4231, test case 2).
    #[test]
    fn a_pseudonym_is_keyed() {
        let secret = Secret::new(b"Jefe");
        assert_eq!(secret.pseudonym("what", "do ya want for nothing?"), "what-5bdcc146bf60");
        assert_ne!(secret.pseudonym("user", "a"), Secret::new(b"salt").pseudonym("user", "a"));
    }

    #[test]
    fn tasks_of_an_array_stay_together() {
        let secret = Secret::new(b"Jefe");
        let array = secret.pseudonym("job", "16");
        assert_eq!(secret.pseudonym("job", "16_5"), format!("{array}_5"));
        assert!(!secret.pseudonym("user", "a_b").contains('_'));
    }
}
