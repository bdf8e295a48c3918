//! Curves on a terminal: letters or dots where they pass.

use report::{Curves, Kind};

use super::{ink, place, sign};
use crate::chart::{duration_words, log_part, log_time, log_times, marks};
use crate::picture::{PictureLook, TerminalColors};
use crate::theme::{self, letter};
use crate::visible::visible;

/// Rows from the bottom to the top of the plot.
const ROWS: usize = 21;
const WIDEST: usize = 100;

/// Where curves meet the first of them is seen.
pub(super) fn write(text: &mut String, curves: &Curves, look: &PictureLook) {
    let Some((first, last)) = curves.span() else {
        text.push_str("Nothing to show.\n");
        return;
    };
    let highest = curves.curves.iter().flat_map(|curve| &curve.points).map(|point| point.value);
    let marks = marks(curves.unit, highest.fold(0.0, f64::max), 5);
    let end = marks.last().map_or(1.0, |(end, _)| *end);
    let margin = marks.iter().map(|(_, words)| words.chars().count()).max().unwrap_or(0) + 2;
    let width = look
        .terminal_columns
        .map_or(WIDEST, |columns| columns.saturating_sub(margin + 1).clamp(20, WIDEST));

    let row_of = |value: f64| ROWS - 1 - (value / end * (ROWS - 1) as f64).round() as usize;
    let mut cells: Vec<Option<Kind>> = vec![None; ROWS * width];
    for curve in curves.curves.iter().rev() {
        for column in 0..width {
            let part = column as f64 / (width - 1) as f64;
            // Rounding must not lead beyond the last time.
            let seconds = log_time(first, last, part).min(last);
            if let Some(point) = curve.point_at(seconds) {
                cells[row_of(point.value.clamp(0.0, end)) * width + column] = Some(curve.kind);
            }
        }
    }

    *text += &format!("{}\n", visible(&curves.heading));
    for (row, cells) in cells.chunks(width).enumerate() {
        let mark = marks.iter().find(|(mark, _)| row_of(*mark) == row);
        let words = mark.map_or("", |(_, words)| words.as_str());
        let line: String = cells.iter().map(|cell| character(*cell, look)).collect();
        *text += format!("{words:>width$} │{line}", width = margin - 2).trim_end();
        text.push('\n');
    }
    let mut times = String::new();
    for seconds in log_times(first, last) {
        let at = (log_part(first, last, seconds) * (width - 1) as f64).round() as usize;
        let words = duration_words(seconds);
        // The last one stays within the plot.
        place(&mut times, margin + at.min(width - words.len()), &words);
    }
    *text += &format!("{}└{}\n{times}\n\n", " ".repeat(margin - 1), "─".repeat(width));
    for curve in &curves.curves {
        *text += &format!("{}  {}\n", sign(curve.kind, look), visible(&curve.name));
    }
}

fn character(cell: Option<Kind>, look: &PictureLook) -> String {
    match (cell, look.terminal_colors) {
        (None, _) => " ".to_owned(),
        (Some(kind), TerminalColors::None) => letter(kind).to_string(),
        (Some(kind), colors) => {
            format!("{}●{}", ink(look.theme.fill(kind).color, colors), theme::RESET)
        }
    }
}
