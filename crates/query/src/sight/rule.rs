//! What those who are not staff see of each table. A table that is not in the list they do not see
//! at all, and of a table in it no text that is not listed: numbers and moments name nobody.

/// What is seen of a table.
pub(super) struct Rule {
    table: &'static str,
    pub(super) rows: Rows,
    texts: &'static [(&'static str, Text)],
}

/// Which rows a user sees.
#[derive(Debug, PartialEq)]
pub(super) enum Rows {
    /// All of them.
    All,
    /// His own, by the column `user`, and those of his accounts, by the column `account`: these
    /// he sees whole.
    Owned,
}

/// What a column of text tells.
#[derive(Debug, PartialEq)]
pub(super) enum Text {
    /// Nothing of anybody.
    Plain,
    User,
    Account,
    /// A job of the row's user.
    Job,
    /// A job of the user in another column.
    JobOf(&'static str),
    /// Words of the site: the public sees whether there are any, and not what they say.
    Said,
    /// Words of a person, or about one: not for the public.
    Private,
}

impl Rule {
    pub(super) fn text(&self, column: &str) -> Option<&'static Text> {
        self.texts.iter().find(|(name, _)| *name == column).map(|(_, kind)| kind)
    }
}

/// The rule of a table; nothing if only staff sees it.
pub(super) fn of(table: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.table == table)
}

/// What keeps names out of a table that a session makes itself.
#[derive(Debug, PartialEq)]
pub(super) enum Cut {
    /// It names nobody.
    NamesNobody,
    /// Its rows are chosen by [`Sight::members`](super::Sight::members).
    ByMembers,
    /// Its rows are chosen by [`Sight::covers_use_of`](super::Sight::covers_use_of).
    ByAllocation,
    /// It is made of tables that are veiled.
    ByWhatItIsMadeOf,
}

/// What cuts a table that a session makes itself; nothing if only staff sees it.
pub(super) fn of_made(table: &str) -> Option<&'static Cut> {
    MADE.iter().find(|(name, _)| *name == table).map(|(_, cut)| cut)
}

/// Tables that a session makes itself, and registers as they are.
static MADE: [(&str, Cut); 9] = [
    ("day", Cut::NamesNobody),
    ("asked", Cut::NamesNobody),
    ("user_group", Cut::ByMembers),
    ("allocation", Cut::ByAllocation),
    ("allocation_cluster", Cut::ByAllocation),
    ("allocation_day", Cut::ByAllocation),
    ("backfill_phase", Cut::ByWhatItIsMadeOf),
    ("primary_phase", Cut::ByWhatItIsMadeOf),
    ("backfill_attempt", Cut::ByWhatItIsMadeOf),
];

/// Only staff sees `collection` and `reject`: errors and input may say anything. The same holds for
/// `site_policy`, whose reasons may name people.
static RULES: [Rule; 7] = [
    Rule {
        table: "job",
        rows: Rows::Owned,
        texts: &[
            ("job_id", Text::Job),
            ("source", Text::Plain),
            ("array_job_id", Text::Job),
            ("array_task_id", Text::Plain),
            ("het_job_id", Text::Job),
            ("user", Text::User),
            ("unix_group", Text::Private),
            ("account", Text::Account),
            ("job_name", Text::Private),
            ("partition", Text::Plain),
            ("qos", Text::Plain),
            ("reservation", Text::Private),
            ("state", Text::Plain),
            ("reason", Text::Plain),
            ("end_reason", Text::Private),
            ("node_list", Text::Plain),
            ("slot", Text::Plain),
            ("gpu_ids", Text::Plain),
            ("gpu_types", Text::Plain),
            ("usage_source", Text::Plain),
            ("gpu_usage_source", Text::Plain),
            ("earlier_values", Text::Plain),
        ],
    },
    Rule {
        table: "job_day",
        rows: Rows::Owned,
        texts: &[
            ("user", Text::User),
            ("account", Text::Account),
            ("partition", Text::Plain),
            ("qos", Text::Plain),
            ("gpu_types", Text::Plain),
            ("state", Text::Plain),
        ],
    },
    Rule { table: "node_day", rows: Rows::All, texts: &[("node", Text::Plain)] },
    Rule { table: "gpu_span", rows: Rows::All, texts: GPU_TEXTS },
    Rule { table: "gpu_sample", rows: Rows::All, texts: GPU_TEXTS },
    Rule {
        table: "node_span",
        rows: Rows::All,
        texts: &[
            ("node", Text::Plain),
            ("state", Text::Plain),
            ("reason", Text::Private),
            ("reason_user", Text::Private),
            ("partitions", Text::Plain),
            ("reservation", Text::Private),
            ("gpu_types", Text::Plain),
            ("alloc_gpu_types", Text::Plain),
        ],
    },
    Rule {
        table: "queue_span",
        rows: Rows::Owned,
        texts: &[
            ("job_id", Text::Job),
            ("user", Text::User),
            ("account", Text::Account),
            ("partition", Text::Plain),
            ("qos", Text::Plain),
            ("state", Text::Plain),
            ("reason", Text::Plain),
            ("gpu_types", Text::Plain),
        ],
    },
];

const GPU_TEXTS: &[(&str, Text)] = &[
    ("machine", Text::Plain),
    ("gpu_id", Text::Plain),
    ("device_name", Text::Plain),
    ("primary_slot", Text::Plain),
    ("primary_state", Text::Plain),
    ("primary_user", Text::User),
    ("primary_job_id", Text::JobOf("primary_user")),
    ("prevent_reason", Text::Said),
    ("availability", Text::Plain),
    ("prioritized_projects", Text::Said),
    ("backfill_slot", Text::Plain),
    ("backfill_state", Text::Plain),
    ("backfill_user", Text::User),
    ("backfill_job_id", Text::JobOf("backfill_user")),
];

#[cfg(test)]
mod tests {
    use datafusion::arrow::datatypes::DataType;
    use record::{Collection, Record, Reject, SitePolicy, TABLES};

    use super::*;

    /// A table that a session makes itself is decided about too; the others stand in its source.
    #[test]
    fn every_table_that_is_made_is_decided_about() {
        for (name, _) in crate::BACKFILL_TABLES {
            assert_eq!(of_made(name), Some(&Cut::ByWhatItIsMadeOf), "{name}");
        }
        for name in ["allocation", "allocation_cluster", "allocation_day"] {
            assert_eq!(of_made(name), Some(&Cut::ByAllocation), "{name}");
        }
        let session = include_str!("../session.rs");
        let made: Vec<&str> = session.split("make(\"").skip(1).collect();
        assert!(made.len() >= 3, "tables are made otherwise now");
        for name in made.iter().map(|rest| rest.split('"').next().unwrap()) {
            assert!(of_made(name).is_some(), "{name} has no rule");
        }
        assert!(!session.contains("register_table(\""), "a table without a rule");
    }

    /// A new table or column is decided about here, or those who are not staff do not see it.
    #[test]
    fn every_table_and_every_text_is_decided_about() {
        let staff_only = [Collection::TABLE.name, Reject::TABLE.name, SitePolicy::TABLE.name];
        for table in TABLES {
            let Some(rule) = of(table.name) else {
                assert!(staff_only.contains(&table.name), "{} has no rule", table.name);
                continue;
            };
            let is_text = |column: &&record::Column| (column.data_type)() == DataType::Utf8;
            let texts: Vec<&str> =
                table.columns.iter().filter(is_text).map(|column| column.name).collect();
            let ruled: Vec<&str> = rule.texts.iter().map(|(name, _)| *name).collect();
            assert_eq!(ruled, texts, "{}", table.name);
            if rule.rows == Rows::Owned {
                assert!(texts.contains(&"user") && texts.contains(&"account"), "{}", table.name);
            } else {
                let is_unowned = |(_, kind): &(_, Text)| ![Text::Account, Text::Job].contains(kind);
                assert!(rule.texts.iter().all(is_unowned), "{}", table.name);
            }
        }
    }
}
