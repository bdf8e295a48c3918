//! Files of a folder: each is written beside, synced and renamed.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Context, Result};
use object_store::path::Path;

use crate::Lake;
use crate::lock::Lock;

/// Changes the files of a cluster in a folder.
pub(crate) struct FolderFiles {
    pub(crate) lake: Lake,
    folder: PathBuf,
    _lock: Lock,
}

impl FolderFiles {
    pub(crate) fn open(lake: &Lake, folder: &std::path::Path, cluster: &str) -> Result<Self> {
        let _lock = Lock::take(folder, cluster)?;
        Ok(FolderFiles { lake: lake.clone(), folder: folder.to_owned(), _lock })
    }

    pub(crate) fn publish(&self, path: &Path, bytes: &[u8]) -> Result<()> {
        let target = self.folder.join(path.as_ref());
        self.replace(&target, bytes).with_context(|| format!("cannot write {}", target.display()))
    }

    fn replace(&self, target: &std::path::Path, bytes: &[u8]) -> io::Result<()> {
        let folder = target.parent().expect("every path of the lake lies in a folder");
        let name = target.file_name().expect("every path of the lake has a name").to_string_lossy();
        // Hidden and without the ending that readers look for.
        let beside = folder.join(format!(".{name}.part"));
        self.lake.step("make the folder");
        fs::create_dir_all(folder)?;
        let written = (|| {
            self.lake.step("write beside");
            let mut file = File::create(&beside)?;
            let half = bytes.len() / 2;
            file.write_all(&bytes[..half])?;
            self.lake.step("write the rest");
            file.write_all(&bytes[half..])?;
            self.lake.step("sync");
            file.sync_all()?;
            self.lake.step("rename");
            fs::rename(&beside, target)
        })();
        if written.is_err() {
            // The cause is told; that the rest of it could not be removed would only hide it.
            let _ = fs::remove_file(&beside);
        }
        written?;
        self.lake.step("sync the folder");
        File::open(folder)?.sync_all()?;
        self.lake.step("done with the file");
        Ok(())
    }

    pub(crate) fn remove<'a>(&self, paths: impl Iterator<Item = &'a Path>) -> Result<()> {
        let mut folder = None;
        for path in paths {
            let target = self.folder.join(path.as_ref());
            self.lake.step("remove a file");
            fs::remove_file(&target)
                .with_context(|| format!("cannot remove {}", target.display()))?;
            folder = target.parent().map(std::path::Path::to_owned);
        }
        if let Some(folder) = folder {
            self.lake.step("sync what was removed");
            File::open(&folder)
                .and_then(|folder| folder.sync_all())
                .with_context(|| format!("cannot sync {}", folder.display()))?;
            // Tidiness: what else may lie in it is not ours, and an empty folder is nobody's.
            let _ = fs::remove_dir(&folder);
        }
        Ok(())
    }
}
