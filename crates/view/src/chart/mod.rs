//! Pictures of a report's numbers, a file a kind.
//!
//! A number is written as [`report::Unit`] writes it, and drawn where it belongs. What is drawn is
//! SVG, which stands in pages and files as it is, and of which `picture/png.rs` makes pixels.

pub(crate) mod bar;
mod bars;
mod cells;
mod columns;
mod curves;
mod frame;
mod heatmap;
mod histogram;
mod letters;
mod line;
mod scale;
mod scatter;
mod svg;
mod time_axis;

use report::{Drawing, Picture};

use crate::theme::Theme;

pub(crate) use bars::words as bar_words;
pub(crate) use curves::{log_part, log_time, log_times};
pub(crate) use frame::percent;
pub(crate) use scale::{duration_words, marks};
pub(crate) use time_axis::ticks as time_ticks;

/// How a picture is to be drawn.
#[derive(Clone, Copy)]
pub(crate) struct Style<'a> {
    pub(crate) theme: &'static Theme,
    /// In units of a 96th of an inch.
    pub(crate) width: f64,
    /// If none is given, as high as it needs.
    pub(crate) height: Option<f64>,
    /// Begins the names of elements, which must be one picture's alone on a page.
    pub(crate) prefix: &'a str,
    /// Whether parts say what they are when pointed at.
    pub(crate) has_tooltips: bool,
    /// Where a name leads to on a page.
    pub(crate) link: &'a dyn Fn(&str) -> Option<String>,
}

/// The picture as one `<svg>` element.
pub(crate) fn draw(picture: &Picture, style: &Style<'_>) -> String {
    match &picture.drawing {
        Drawing::Grid(grid) => heatmap::draw(picture, grid, style),
        Drawing::Series(series) => line::draw(picture, series, style),
        Drawing::Histogram(histogram) => histogram::draw(picture, histogram, style),
        Drawing::Bars(bars) if bars.is_sequence => columns::draw(picture, bars, style),
        Drawing::Bars(bars) => bars::draw(picture, bars, style),
        Drawing::Curves(curves) => curves::draw(picture, curves, style),
        Drawing::Scatter(scatter) => scatter::draw(picture, scatter, style),
    }
}
