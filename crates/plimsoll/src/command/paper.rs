//! A page on paper: an installed browser prints it as PDF.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use source::{Command, Failure, Machine};

/// Programs that print pages alike, in the order in which they are tried.
const BROWSERS: [&str; 4] =
    ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"];

/// Prints a page that needs nothing else into a file.
pub(crate) fn print(machine: &dyn Machine, page: &str, file: &Path) -> Result<()> {
    let here = std::env::current_dir().context("cannot tell which folder this is")?;
    let file = here.join(file);
    let folder = file.parent().unwrap_or(&here);
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let beside = folder.join(format!(".{name}.{}.html", std::process::id()));
    let profile = folder.join(format!(".{name}.{}.browser", std::process::id()));
    std::fs::write(&beside, page).with_context(|| format!("cannot write {}", beside.display()))?;
    let printed = print_file(machine, &beside, &profile, &file);
    // What is left of either does no harm.
    let _ = std::fs::remove_file(&beside);
    let _ = std::fs::remove_dir_all(&profile);
    printed
}

/// A path as a part of an address.
fn encoded(path: &Path) -> String {
    let bytes = path.as_os_str().as_encoded_bytes().iter();
    let encoded = bytes.map(|&byte| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'_' | b'-' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    });
    encoded.collect()
}

fn print_file(machine: &dyn Machine, page: &Path, profile: &Path, file: &Path) -> Result<()> {
    let arguments: Vec<String> = [
        "--headless",
        // The page is ours, and may load and run nothing; where processes cannot be shut in, as in
        // most containers, a browser would not start otherwise.
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--no-pdf-header-footer",
    ]
    .into_iter()
    .map(str::to_owned)
    .chain([
        format!("--user-data-dir={}", profile.display()),
        format!("--print-to-pdf={}", file.display()),
        format!("file://{}", encoded(page)),
    ])
    .collect();
    for program in BROWSERS {
        let command =
            Command { program, arguments: arguments.clone(), time_limit: Duration::from_secs(120) };
        match machine.run(&command, &mut |_| {}) {
            Err(Failure::Missing { .. }) => continue,
            Err(failure) => return Err(failure.into()),
            Ok(()) if file.is_file() => return Ok(()),
            Ok(()) => bail!("{program} printed nothing"),
        }
    }
    bail!(
        "PDF is printed by a browser, and there is none here: install one (apt-get install chromium), \
         or write --format html and print that; looked for {}",
        BROWSERS.join(", ")
    )
}
