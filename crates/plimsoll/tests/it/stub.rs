//! Schedulers that are shell scripts.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::program::{Said, command, said};

/// Puts a program into a folder's `bin`, which [`run`] finds and nothing else.
pub(crate) fn program(folder: &Path, name: &str, script: &str) {
    let bin = folder.join("bin");
    fs::create_dir_all(&bin).unwrap();
    let path = bin.join(name);
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Runs `plimsoll` where these programs are installed.
pub(crate) fn run(folder: &Path, words: &[&str]) -> Said {
    said(command(folder).env("PATH", folder.join("bin")).args(words))
}

/// A script that prints what a real SLURM printed.
pub(crate) fn prints(fixture: &str) -> String {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/slurm-22.05");
    format!("/bin/cat '{}'", path.join(fixture).display())
}

/// One SLURM cluster that runs here.
pub(crate) const MAPLE: &str = "[[cluster]]\nname = \"maple\"\nkind = \"slurm\"\n";

pub(crate) fn configure(folder: &Path, text: &str) {
    fs::write(folder.join("plimsoll.toml"), text).unwrap();
}
