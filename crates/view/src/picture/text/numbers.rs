//! A grid of numbers on a terminal that has room for them: each as it is, on its colour.

use report::{Cells, Columns, Grid, Unit, Value};

use super::{columns, highest, ink, paper, row_labels};
use crate::picture::{PictureLook, TerminalColors};
use crate::theme;
use crate::visible::visible;

/// What is taken to be there where nobody knows how wide it is.
const USUAL_COLUMNS: usize = 80;

/// The numbers of a grid, with how wide each is to be written.
pub(super) struct Numbers<'a> {
    labels: &'a [String],
    values: &'a [Option<f64>],
    unit: Unit,
    width: usize,
}

/// The numbers of a grid that has some, if they fit beside its labels.
pub(super) fn of<'a>(grid: &'a Grid, margin: usize, look: &PictureLook) -> Option<Numbers<'a>> {
    let (Cells::Numbers { values, unit }, Columns::Labels(labels)) = (&grid.cells, &grid.columns)
    else {
        return None;
    };
    let shown = values.iter().map(|value| columns(&show(*value, *unit)));
    let width = shown.chain(labels.iter().map(|label| columns(&visible(label)))).max()? + 2;
    let room = look.terminal_columns.unwrap_or(USUAL_COLUMNS).saturating_sub(margin);
    (labels.len() * width <= room).then_some(Numbers { labels, values, unit: *unit, width })
}

pub(super) fn write(text: &mut String, grid: &Grid, numbers: &Numbers<'_>, look: &PictureLook) {
    let Numbers { labels, values, unit, width } = numbers;
    let row_labels = row_labels(grid);
    let margin = row_labels.first().map_or(0, |label| columns(label));
    *text += &" ".repeat(margin);
    for label in *labels {
        *text += &right(&visible(label), *width);
    }
    text.push('\n');
    let highest = highest(values);
    for (label, values) in row_labels.iter().zip(values.chunks(labels.len())) {
        *text += label;
        for value in values {
            let words = right(&show(*value, *unit), *width);
            *text += &match (look.terminal_colors, value) {
                (TerminalColors::None, _) | (_, None) => words,
                (colors, Some(value)) => {
                    let color = look.theme.level(value / highest);
                    let letters = look.theme.ink_on(color);
                    let (ink, paper) = (ink(letters, colors), paper(color, colors));
                    format!("{ink}{paper}{words}{}", theme::RESET)
                }
            };
        }
        text.push('\n');
    }
}

fn show(value: Option<f64>, unit: Unit) -> String {
    unit.show(&value.map_or(Value::Unknown, Value::Number), &jiff::tz::TimeZone::UTC)
}

/// The words at the right end of so many columns.
fn right(words: &str, width: usize) -> String {
    " ".repeat(width.saturating_sub(columns(words))) + words
}
