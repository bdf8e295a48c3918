//! `data_dir` and `state_dir`: where the history is kept, and what is not history.

use std::ops::Range;
use std::path::{Path, PathBuf};

use lake::{Place, StoreSettings};
use toml::Spanned;
use toml::de::DeValue;

use super::{Problems, string};
use crate::config::{DEFAULT_DATA_DIR, no_state_dir};

/// What the file says of both, as it is written.
#[derive(Default)]
pub(super) struct Folders {
    data_dir: Option<(PathBuf, Range<usize>)>,
    state_dir: Option<PathBuf>,
}

impl Folders {
    pub(super) fn read(
        data_dir: Option<&Spanned<DeValue>>,
        state_dir: Option<&Spanned<DeValue>>,
        problems: &mut Problems,
    ) -> Folders {
        let mut path = |key: &str, value: Option<&Spanned<DeValue>>| {
            let value = value?;
            Some((path(key, value, problems)?, value.span()))
        };
        let data_dir = path("data_dir", data_dir);
        let state_dir = path("state_dir", state_dir).map(|(path, _)| path);
        Folders { data_dir, state_dir }
    }

    /// The places that are meant: relative paths begin at a folder.
    pub(super) fn below(
        self,
        folder: &Path,
        settings: &StoreSettings,
        problems: &mut Problems,
    ) -> (Place, Option<PathBuf>) {
        let state_dir = self.state_dir.map(|path| folder.join(path));
        let Some((written, span)) = self.data_dir else {
            return (Place::Folder(folder.join(DEFAULT_DATA_DIR)), state_dir);
        };
        match Place::read(&written, folder, settings) {
            Ok(place) => {
                if place.folder().is_none() && state_dir.is_none() {
                    problems.add(span, format!("data_dir: {}", no_state_dir(&place)));
                }
                (place, state_dir)
            }
            Err(error) => {
                problems.add(span, format!("data_dir: {error:#}"));
                (Place::Folder(written), state_dir)
            }
        }
    }
}

fn path(key: &str, value: &Spanned<DeValue>, problems: &mut Problems) -> Option<PathBuf> {
    let folder = string(key, "a string", value, problems)?;
    if folder.is_empty() {
        problems.add(value.span(), format!("{key}: it is empty"));
    } else if folder.starts_with('~') {
        let words = format!("{key}: {folder:?} is not expanded as in a shell: write it whole");
        problems.add(value.span(), words);
    }
    Some(folder.into())
}
