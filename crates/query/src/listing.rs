//! The lake's files as one question sees them: each table is listed once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use anyhow::Result;
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
    listed: Mutex<HashMap<&'static str, Vec<LakeFile>>>,
}

impl Listing {
    pub(crate) fn new(lake: &Lake, trackers: &Arc<Trackers>, is_careful: bool) -> Listing {
        Listing {
            lake: lake.clone(),
            trackers: trackers.clone(),
            store: Arc::new(HeldFiles::new(lake.store())),
            is_careful,
            listed: Mutex::default(),
        }
    }

    /// The files of a table.
    pub(crate) async fn files(&self, table: &'static Table) -> Result<Vec<LakeFile>> {
        let known =
            self.listed.lock().expect("no holder of this lock panics").get(table.name).cloned();
        if let Some(files) = known {
            return Ok(files);
        }
        let files = self.lake.files(table, &self.trackers).await?;
        let mut listed = self.listed.lock().expect("no holder of this lock panics");
        listed.insert(table.name, files.clone());
        Ok(files)
    }
}
