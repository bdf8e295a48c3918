//! The formats of pictures, a file each.

mod csv;
mod drawable;
mod html;
mod json;
mod png;
mod svg;
mod text;

use std::fmt;
use std::path::Path;

use report::Picture;

use crate::theme::{THEMES, Theme};

pub use html::picture_fragment;

/// Every format of a picture, in the order in which help and documents list them.
pub static PICTURE_FORMATS: [&dyn PictureFormat; 6] =
    [&text::Text, &png::Png, &svg::Svg, &html::Html, &csv::Csv, &json::Json];

/// A way to write a picture down.
pub trait PictureFormat: Sync {
    /// The value of `--format`.
    fn name(&self) -> &'static str;

    /// What it is for, as a sentence of the help.
    fn meaning(&self) -> &'static str;

    /// Endings of the names of its files, without the dot; the usual one first.
    fn extensions(&self) -> &'static [&'static str];

    /// What a web server calls it.
    fn media_type(&self) -> &'static str;

    /// Whether it is for people, so that a row of many GPUs is better than many rows.
    fn is_drawn(&self) -> bool;

    fn render(&self, picture: &Picture, look: &PictureLook) -> Result<Vec<u8>, TooLarge>;
}

/// The format of a picture that `--format` names.
pub fn picture_format_by_name(name: &str) -> Option<&'static dyn PictureFormat> {
    PICTURE_FORMATS.into_iter().find(|format| format.name() == name)
}

/// The format that a file's name asks for, such as PNG for `gpus.png`.
pub fn picture_format_by_extension(path: &Path) -> Option<&'static dyn PictureFormat> {
    let extension = path.extension()?.to_str()?.to_ascii_lowercase();
    PICTURE_FORMATS.into_iter().find(|format| format.extensions().contains(&extension.as_str()))
}

/// How a picture is to look, and how large it is to be.
#[derive(Clone, Copy, Debug)]
pub struct PictureLook {
    pub theme: &'static Theme,
    pub width_inches: f64,
    /// As high as it needs, if none is given.
    pub height_inches: Option<f64>,
    /// Of PNG.
    pub dots_per_inch: f64,
    /// Columns of the terminal; unknown for a file or a pipe.
    pub terminal_columns: Option<usize>,
    pub terminal_colors: TerminalColors,
}

/// What a terminal can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TerminalColors {
    /// None: letters stand for them.
    None,
    /// Those of xterm.
    Indexed256,
    /// Any.
    True,
}

impl Default for PictureLook {
    fn default() -> PictureLook {
        PictureLook {
            theme: THEMES[0],
            width_inches: 10.0,
            height_inches: None,
            dots_per_inch: 300.0,
            terminal_columns: None,
            terminal_colors: TerminalColors::None,
        }
    }
}

impl PictureLook {
    /// SVG's units, as CSS has them.
    const UNITS_PER_INCH: f64 = 96.0;

    pub(crate) fn style(&self) -> crate::chart::Style<'static> {
        crate::chart::Style {
            theme: self.theme,
            width: (self.width_inches * PictureLook::UNITS_PER_INCH).max(200.0),
            height: self.height_inches.map(|height| height * PictureLook::UNITS_PER_INCH),
            prefix: "",
            has_tooltips: false,
            link: &|_| None,
        }
    }
}

/// A picture has more pixels than is sensible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge {
    pub width_pixels: u64,
    pub height_pixels: u64,
}

impl fmt::Display for TooLarge {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TooLarge { width_pixels, height_pixels } = self;
        write!(
            formatter,
            "the picture would be {width_pixels} by {height_pixels} pixels large; \
             take fewer dots per inch, a smaller width or height, or fewer rows"
        )
    }
}

impl std::error::Error for TooLarge {}

#[cfg(test)]
mod tests;
