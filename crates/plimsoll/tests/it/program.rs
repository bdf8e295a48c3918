//! Runs the program.

use std::path::Path;
use std::process::{Command, Stdio};

/// What the program said, and how it ended.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) status: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs `plimsoll` with these words in a folder, with nothing of this machine's settings.
pub(crate) fn plimsoll(folder: &Path, words: &[&str]) -> Said {
    said(command(folder).args(words))
}

/// The program in a folder, yet to be told what to do.
pub(crate) fn command(folder: &Path) -> Command {
    #[expect(clippy::disallowed_methods, reason = "the program under test")]
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command
        .current_dir(folder)
        .stdin(Stdio::null())
        .env_clear()
        // Whatever scheduler this machine has is not found.
        .env("PATH", folder.join("no-programs"))
        .env("HOME", folder)
        .env("TZ", "UTC");
    command
}

pub(crate) fn said(command: &mut Command) -> Said {
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Said {
        status: output.status.code().unwrap_or(-1),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}
