//! A report becomes bytes: for a person to read, or for a program.
//!
//! No number is computed here. For people, [`report::Unit`] writes each value; for programs,
//! values go out as they are.

mod chart;
mod document;
mod ending;
mod format;
mod page;
mod picture;
mod raw;
mod theme;
mod visible;

use std::path::Path;

pub use document::{Attached, DOCUMENT_FORMATS, DocumentFormat, DocumentMail, document_mail};
pub use format::metrics::{MetricsText, OPEN_METRICS, PROMETHEUS};
pub use format::{FORMATS, Format, Look};
pub use page::{Layout, Piece, page_script, page_style};
pub use picture::{
    PICTURE_FORMATS, PictureFormat, PictureLook, TerminalColors, TooLarge,
    picture_format_by_extension, picture_format_by_name, picture_fragment,
};
pub use theme::{THEMES, Theme};

/// The format that `--format` names.
pub fn by_name(name: &str) -> Option<&'static dyn Format> {
    FORMATS.into_iter().find(|format| format.name() == name)
}

/// The format that a file's name asks for, such as HTML for `usage.html`.
pub fn by_extension(path: &Path) -> Option<&'static dyn Format> {
    let extension = path.extension()?.to_str()?.to_ascii_lowercase();
    FORMATS.into_iter().find(|format| format.extensions().contains(&extension.as_str()))
}

#[cfg(test)]
mod tests;
