//! The lake's files as one question sees them: each table is listed once.
//!
//! In a store to list years takes as many requests as to read a week. There the trackers say from which day
//! on there is something to a question, and no earlier one is listed: what lies before it is as the
//! last collection left it.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

use anyhow::Result;
use jiff::civil::Date;
use lake::{Lake, LakeFile, Trackers};
use record::Table;

use crate::held_files::HeldFiles;

/// The files of the tables that were asked for so far.
pub(crate) struct Listing {
    pub(crate) lake: Lake,
    pub(crate) trackers: Arc<Trackers>,
    /// Where files are read.
    pub(crate) store: Arc<HeldFiles>,
    /// Whether files that the trackers know are looked at before they are read.
    pub(crate) is_careful: bool,
    /// Whether other machines read the files, so that none can be held for them.
    pub(crate) is_read_elsewhere: bool,
    listed: Mutex<HashMap<&'static str, Listed>>,
}

/// A table's files since a day.
#[derive(Clone)]
struct Listed {
    since: Since,
    files: Vec<LakeFile>,
}

/// The first day that is listed; none if all are.
pub(crate) type Since = Option<Date>;

/// Whether what is listed since a day has all since another.
pub(crate) fn covers(listed: Since, wanted: Since) -> bool {
    match (listed, wanted) {
        (None, _) => true,
        (Some(listed), Some(wanted)) => listed <= wanted,
        (Some(_), None) => false,
    }
}

impl Listing {
    pub(crate) fn new(
        lake: &Lake,
        trackers: &Arc<Trackers>,
        is_careful: bool,
        is_read_elsewhere: bool,
    ) -> Listing {
        Listing {
            lake: lake.clone(),
            trackers: trackers.clone(),
            store: Arc::new(HeldFiles::new(lake.store())),
            is_careful,
            is_read_elsewhere,
            listed: Mutex::default(),
        }
    }

    /// From which day on a table's files have to be listed, so that none is missed of those that
    /// `choose` keeps, nor any that no tracker knows yet.
    pub(crate) fn since<E>(
        &self,
        table: &Table,
        choose: impl FnOnce(Vec<LakeFile>) -> Result<Vec<LakeFile>, E>,
    ) -> Result<Since, E> {
        if self.lake.folder().is_some() || self.is_careful {
            return Ok(None);
        }
        let Some(known) = lake::known_files(table, &self.trackers) else { return Ok(None) };
        let mut last_days: BTreeMap<String, Date> = BTreeMap::new();
        for file in &known {
            let last = last_days.entry(file.cluster.clone()).or_insert(file.date);
            *last = file.date.max(*last);
        }
        let chosen = choose(known)?;
        Ok(chosen.iter().map(|file| file.date).chain(last_days.into_values()).min())
    }

    /// The files of a table since a day.
    pub(crate) async fn files(&self, table: &'static Table, since: Since) -> Result<Vec<LakeFile>> {
        let known =
            self.listed().get(table.name).filter(|known| covers(known.since, since)).cloned();
        if let Some(known) = known {
            return Ok(known.files);
        }
        let files = match since {
            Some(first) => self.lake.files_since(table, &self.trackers, first).await?,
            None => self.lake.files(table, &self.trackers).await?,
        };
        self.listed().insert(table.name, Listed { since, files: files.clone() });
        Ok(files)
    }

    fn listed(&self) -> std::sync::MutexGuard<'_, HashMap<&'static str, Listed>> {
        self.listed.lock().expect("no holder of this lock panics")
    }
}
