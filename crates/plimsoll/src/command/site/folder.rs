//! The folder that the pages are written into. A file appears whole or not at all, and what somebody
//! else put there stays as it is.

use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, bail};

/// The list of the files that are ours.
const LIST: &str = ".plimsoll-site";
/// Where files are until all of them are made. It is inside, for what is beside may be on another disk
/// or not ours to write.
const UNFINISHED: &str = ".plimsoll-unfinished";
/// What the list begins with.
const HEADING: &str =
    "# What `plimsoll site` wrote here. Its next run removes of these what it does not write.\n";

/// A folder of pages, while it is written.
pub(super) struct Folder {
    path: PathBuf,
    /// What was ours before.
    before: BTreeSet<String>,
    added: BTreeSet<String>,
    /// Held as long as it is open, so that two do not write at once.
    _locked: File,
}

/// How many files were written and removed.
#[derive(Debug, PartialEq)]
pub(super) struct Changed {
    pub(super) written: usize,
    pub(super) removed: usize,
}

impl Folder {
    /// Opens a folder that is ours, or that is made or found empty.
    pub(super) fn open(path: &Path) -> Result<Folder> {
        let cannot = || format!("cannot write into {}", path.display());
        fs::create_dir_all(path).with_context(cannot)?;
        let locked = File::open(path).with_context(cannot)?;
        // File systems that lock no folders are written to all the same.
        if let Err(TryLockError::WouldBlock) = locked.try_lock() {
            bail!("another plimsoll site writes into {} now", path.display());
        }
        let list = path.join(LIST);
        let before = match fs::read_to_string(&list) {
            Ok(text) => listed(&text).with_context(|| format!("cannot use {}", list.display()))?,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                if fs::read_dir(path).with_context(cannot)?.next().is_some() {
                    bail!(
                        "{} has files that plimsoll did not write, and was left as it is: name an \
                         empty folder, or one that is not there",
                        path.display()
                    );
                }
                BTreeSet::new()
            }
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read {}", list.display()));
            }
        };
        let folder =
            Folder { path: path.to_owned(), before, added: BTreeSet::new(), _locked: locked };
        folder.note(&folder.before)?;
        // Of a run that was killed.
        remove_unfinished(&folder.path)?;
        Ok(folder)
    }

    /// Adds a file, which is not yet in its place.
    pub(super) fn add(&mut self, path: &str, bytes: &[u8]) -> Result<()> {
        write(&self.path.join(UNFINISHED).join(path), bytes)?;
        self.added.insert(path.to_owned());
        Ok(())
    }

    /// Puts all files in their places, and removes what was ours and was not added.
    pub(super) fn put_in_place(self) -> Result<Changed> {
        for path in self.added.difference(&self.before) {
            let place = self.path.join(path);
            if fs::symlink_metadata(&place).is_ok() {
                bail!("{} is in the way: plimsoll did not write it; move it away", place.display());
            }
        }
        // Noted before they are there: if this ends here, the next run knows them all.
        self.note(&self.before.union(&self.added).cloned().collect())?;
        for path in &self.added {
            let place = self.path.join(path);
            make_parent(&place)?;
            fs::rename(self.path.join(UNFINISHED).join(path), &place)
                .with_context(|| format!("cannot put {} in place", place.display()))?;
        }
        let stale: Vec<&String> = self.before.difference(&self.added).collect();
        for path in &stale {
            self.remove(path)?;
        }
        self.note(&self.added)?;
        remove_unfinished(&self.path)?;
        Ok(Changed { written: self.added.len(), removed: stale.len() })
    }

    /// Removes a file, and the folders that it leaves empty.
    fn remove(&self, path: &str) -> Result<()> {
        let place = self.path.join(path);
        fs::remove_file(&place)
            .or_else(absent_is_fine)
            .with_context(|| format!("cannot remove {}", place.display()))?;
        let above = place.ancestors().skip(1).take_while(|folder| *folder != self.path);
        for folder in above {
            // One with something in it stays.
            if fs::remove_dir(folder).is_err() {
                break;
            }
        }
        Ok(())
    }

    /// Writes down which files are ours.
    fn note(&self, paths: &BTreeSet<String>) -> Result<()> {
        let lines: String = paths.iter().map(|path| format!("{path}\n")).collect();
        let unfinished = self.path.join(format!("{LIST}.unfinished"));
        write(&unfinished, format!("{HEADING}{lines}").as_bytes())?;
        let list = self.path.join(LIST);
        fs::rename(&unfinished, &list)
            .with_context(|| format!("cannot put {} in place", list.display()))
    }
}

/// The paths of a list. One that leads elsewhere was not written by us, and nothing is removed by it.
fn listed(text: &str) -> Result<BTreeSet<String>> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let paths: BTreeSet<String> = lines.map(str::to_owned).collect();
    for path in &paths {
        let stays = |part| matches!(part, Component::Normal(_));
        if path.is_empty() || !Path::new(path).components().all(stays) {
            bail!("it names {path:?}, which is no file of this folder");
        }
    }
    Ok(paths)
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    make_parent(path)?;
    fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}

fn make_parent(path: &Path) -> Result<()> {
    let Some(parent) = path.parent() else { return Ok(()) };
    fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))
}

fn remove_unfinished(path: &Path) -> Result<()> {
    let unfinished = path.join(UNFINISHED);
    fs::remove_dir_all(&unfinished)
        .or_else(absent_is_fine)
        .with_context(|| format!("cannot remove {}", unfinished.display()))
}

fn absent_is_fine(error: io::Error) -> io::Result<()> {
    if error.kind() == ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    /// Writes files, each with its own path in it.
    fn write_all(path: &Path, files: &[&str]) -> Result<Changed> {
        let mut folder = Folder::open(path)?;
        for file in files {
            folder.add(file, file.as_bytes())?;
        }
        folder.put_in_place()
    }

    /// All files of a folder.
    fn there(path: &Path) -> Vec<String> {
        let mut found = Vec::new();
        let mut folders = vec![path.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let entry = entry.unwrap().path();
                if entry.is_dir() {
                    folders.push(entry);
                } else {
                    let name = entry.strip_prefix(path).unwrap().to_str().unwrap();
                    found.push(name.to_owned());
                }
            }
        }
        found.sort();
        found
    }

    #[test]
    fn a_later_run_removes_what_it_does_not_write_and_nothing_else() {
        let parent = TempDir::new().unwrap();
        let path = parent.path().join("new/site");
        let first = write_all(&path, &["index.html", "users/ann.html", "nodes/a/n1.html"]).unwrap();
        assert_eq!(first, Changed { written: 3, removed: 0 });
        fs::write(path.join("users/mine.html"), "mine").unwrap();
        let second = write_all(&path, &["index.html", "users/bob.html"]).unwrap();
        assert_eq!(second, Changed { written: 2, removed: 2 });
        assert_eq!(there(&path), [LIST, "index.html", "users/bob.html", "users/mine.html"]);
        assert!(!path.join("nodes").exists());
    }

    #[test]
    fn a_folder_with_files_of_others_is_left_as_it_is() {
        let folder = TempDir::new().unwrap();
        fs::write(folder.path().join("thesis.tex"), "").unwrap();
        let error = write_all(folder.path(), &["index.html"]).unwrap_err().to_string();
        assert!(error.contains("has files that plimsoll did not write"), "{error}");
        assert_eq!(there(folder.path()), ["thesis.tex"]);
    }

    #[test]
    fn a_file_of_somebody_else_is_not_replaced() {
        let folder = TempDir::new().unwrap();
        write_all(folder.path(), &["index.html"]).unwrap();
        fs::write(folder.path().join("users.html"), "mine").unwrap();
        let error = write_all(folder.path(), &["users.html"]).unwrap_err().to_string();
        assert!(error.contains("users.html is in the way"), "{error}");
        assert_eq!(fs::read_to_string(folder.path().join("users.html")).unwrap(), "mine");
        assert_eq!(fs::read_to_string(folder.path().join("index.html")).unwrap(), "index.html");
    }

    #[test]
    fn a_run_that_was_killed_is_done_again() {
        let folder = TempDir::new().unwrap();
        let mut killed = Folder::open(folder.path()).unwrap();
        killed.add("index.html", b"half").unwrap();
        assert!(!folder.path().join("index.html").exists());
        let busy = Folder::open(folder.path()).map(|_| ()).unwrap_err().to_string();
        assert!(busy.contains("another plimsoll site writes into"), "{busy}");
        drop(killed);
        write_all(folder.path(), &["users.html"]).unwrap();
        assert_eq!(there(folder.path()), [LIST, "users.html"]);
    }

    #[test]
    fn a_list_that_leads_elsewhere_removes_nothing() {
        for path in ["../thesis.tex", "/etc/passwd", "a/../../b", ""] {
            assert!(listed(&format!("{HEADING}{path}\n")).is_err(), "{path:?}");
        }
        assert_eq!(listed(HEADING).unwrap().len(), 0);
    }
}
