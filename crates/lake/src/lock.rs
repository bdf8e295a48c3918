//! One collector a cluster. The system itself frees the lock of a process that dies.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::Path;

use anyhow::{Context, Result, bail};

/// Holds a cluster's lock until it is dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
}

impl Lock {
    pub(crate) fn take(root: &Path, cluster: &str) -> Result<Lock> {
        let folder = root.join("lock");
        let path = folder.join(format!("{cluster}.lock"));
        std::fs::create_dir_all(&folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))?;
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .with_context(|| format!("cannot open {}", path.display()))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                // Who holds it is good to know, no more.
                let _ = file.read_to_string(&mut holder);
                bail!(
                    "another collector of cluster {cluster:?} is running (process {}); wait for it or stop it",
                    if holder.is_empty() { "unknown" } else { holder.trim() }
                );
            }
            Err(TryLockError::Error(error)) => {
                return Err(error).with_context(|| format!("cannot lock {}", path.display()));
            }
        }
        // Who holds it, for the message above.
        file.set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| writeln!(file, "{}", std::process::id()))
            .with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Lock { file })
    }
}

impl Drop for Lock {
    /// That the file is closed is not enough: a child has it, too, from its birth until its program runs.
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}

/// Who holds a cluster's lock, as it wrote itself down; nothing if nobody does.
pub(crate) fn holder(root: &Path, cluster: &str) -> Result<Option<String>> {
    let path = root.join("lock").join(format!("{cluster}.lock"));
    let mut file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            return Err(error).with_context(|| format!("cannot open {}", path.display()));
        }
    };
    // Shared, and let go at once: a collector that begins at this very moment is refused only if
    // it comes between the two.
    match file.try_lock_shared() {
        Ok(()) => {
            // As when a lock is dropped.
            let _ = file.unlock();
            Ok(None)
        }
        Err(TryLockError::WouldBlock) => {
            let mut process = String::new();
            // Who holds it is good to know, no more.
            let _ = file.read_to_string(&mut process);
            Ok(Some(format!("process {}", process.trim())))
        }
        Err(TryLockError::Error(error)) => {
            Err(error).with_context(|| format!("cannot lock {}", path.display()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_free_once_it_is_dropped_though_a_child_has_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let lock = Lock::take(folder.path(), "maple").unwrap();
        // As a child has it.
        let inherited = lock.file.try_clone().unwrap();
        assert!(Lock::take(folder.path(), "maple").is_err());
        drop(lock);
        assert_eq!(holder(folder.path(), "maple").unwrap(), None);
        Lock::take(folder.path(), "maple").unwrap();
        drop(inherited);
    }
}
