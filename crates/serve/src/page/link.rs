//! Where the cells of tables lead to.

use report::{Table, Value};

use super::answer::Asked;
use crate::about::About;

/// Words that stand for several in a column of names.
const NO_NAMES: [&str; 7] =
    ["all", "ungrouped", "(others)", "All GPUs", "All backfill", "TOTAL", "Prioritized TOTAL"];

impl Asked<'_> {
    /// The clusters and the time that are shown here, said or not: a page that a cell leads to shows
    /// the same.
    fn place(&self) -> About {
        let span = self.about.span.clone().unwrap_or_else(|| self.page.span.clone());
        self.about.place().during(span)
    }

    /// The jobs of a user, or in files, where no jobs can be chosen, the user; the clusters and the
    /// time stay.
    pub(super) fn jobs_of(&self, user: &str) -> Option<String> {
        if self.root.is_of_files() {
            return (!NO_NAMES.contains(&user)).then(|| self.root.to(&["users", user], ""));
        }
        Some(self.root.to(&["jobs"], &self.place().with("user", user).query()))
    }

    /// The page of what a cell names; the clusters and the time stay.
    pub(super) fn link(&self, table: &Table, row: usize, column: usize) -> Option<String> {
        let name = named(table, row, column)?;
        let cluster = || {
            let place = table.columns.iter().position(|column| column.name == "cluster")?;
            named(table, row, place)
        };
        let place = self.place();
        let query = place.query();
        let to = |segments: &[&str]| Some(self.root.to(segments, &query));
        match table.columns[column].name.as_str() {
            "user" => to(&["users", name]),
            "account" => to(&["accounts", name]),
            "group_name" => to(&["groups", name]),
            // Rows of a class follow one another: the first leads to its page, unless this is it.
            "class" => {
                let is_above = row > 0 && named(table, row - 1, column) == Some(name);
                let is_here = self.names.get("class").is_some_and(|class| class == name);
                if is_above || is_here { None } else { to(&["gpus", name]) }
            }
            "node" | "machine" => to(&["nodes", cluster()?, name]),
            // What a report adds up by, its heading says.
            "by" if table.columns[column].heading == "Machine" => {
                let (cluster, machine) = match cluster() {
                    Some(cluster) => (cluster, name),
                    None => name.split_once('/')?,
                };
                to(&["nodes", cluster, machine])
            }
            // The rest of this can be chosen from a server alone.
            _ if self.root.is_of_files() => None,
            "job_id" => to(&["jobs", cluster()?, name]),
            "cluster" => {
                let mut place = place;
                place.clusters = vec![name.to_owned()];
                Some(self.root.to(&[], &place.query()))
            }
            "state" if self.page.family() == "jobs" => {
                Some(self.root.to(&["jobs"], &place.with("state", name).query()))
            }
            _ => None,
        }
    }
}

fn named(table: &Table, row: usize, column: usize) -> Option<&str> {
    match &table.rows[row][column] {
        Value::Text(name) if !name.is_empty() && !NO_NAMES.contains(&name.as_str()) => Some(name),
        _ => None,
    }
}
