//! Bars for a terminal, a line each: a label, a bar, the value.

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, ColumnConstraint, Row, Width};
use jiff::tz::TimeZone;
use report::{Bar, BarChart};

use crate::format::Look;
use crate::theme;
use crate::visible::visible;

/// What the bars are of, and how many there are if not all are shown.
pub(crate) fn title(chart: &BarChart) -> String {
    let heading = visible(&chart.heading);
    if chart.bars.len() < chart.of {
        let which = if chart.label_unit == report::Unit::Date { "last" } else { "top" };
        format!("{heading} (showing {which} {} of {})", chart.bars.len(), chart.of)
    } else {
        heading.into_owned()
    }
}

/// The bars, the longest of them as wide as there is room for; one that is above zero has at
/// least one column.
pub(crate) fn draw(chart: &BarChart, zone: &TimeZone, look: &Look) -> String {
    let longest = chart.bars.iter().map(|bar| bar.length).fold(0.0, f64::max);
    let values: Vec<String> =
        chart.bars.iter().map(|bar| chart.unit.show(&bar.value, zone)).collect();
    let value_width = values.iter().map(|value| value.chars().count()).max().unwrap_or(0);
    let beside = usize::from(LABEL_WIDTH) + value_width + 2 * usize::from(GAP);
    let room = look.width.map_or(WIDEST_BAR, |width| width.saturating_sub(beside));
    let room = room.clamp(1, WIDEST_BAR);

    let columns_of = |bar: &Bar| {
        let columns = (bar.length / longest * room as f64).round() as usize;
        if bar.length > 0.0 { columns.max(1) } else { 0 }
    };
    let mut drawing = comfy_table::Table::new();
    drawing.load_preset(NOTHING);
    drawing.set_truncation_indicator("…");
    for (bar, value) in chart.bars.iter().zip(values) {
        let label = visible(&chart.label_unit.show(&bar.label, zone)).into_owned();
        let mut row = Row::from(vec![label, BLOCK.to_string().repeat(columns_of(bar)), value]);
        row.max_height(1);
        drawing.add_row(row);
    }
    let widths = [usize::from(LABEL_WIDTH), room, value_width];
    for (index, column) in drawing.column_iter_mut().enumerate() {
        let gap = if index + 1 < widths.len() { GAP } else { 0 };
        column.set_padding((0, gap));
        let width = u16::try_from(widths[index]).unwrap_or(u16::MAX - gap);
        column.set_constraint(ColumnConstraint::Absolute(Width::Fixed(width + gap)));
        if index == 2 {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }

    let mut text = String::new();
    for (line, bar) in drawing.lines().zip(&chart.bars) {
        let line = line.trim_end();
        text += &match look.color {
            true => colored(line, columns_of(bar), color(bar.length / longest)),
            false => line.to_owned(),
        };
        text.push('\n');
    }
    text
}

const BLOCK: char = '█';

/// As slurm-usage draws them.
const WIDEST_BAR: usize = 50;
const LABEL_WIDTH: u16 = 15;

/// Blanks between label, bar and value.
const GAP: u16 = 2;

fn color(share_of_longest: f64) -> &'static str {
    if share_of_longest > 0.66 {
        theme::LONG_BAR
    } else if share_of_longest > 0.33 {
        theme::MIDDLING_BAR
    } else {
        theme::SHORT_BAR
    }
}

/// The line with its bar in a color: the last blocks of it, for a label may hold some too.
fn colored(line: &str, columns: usize, color: &str) -> String {
    let Some(end) = line.rfind(BLOCK).map(|last| last + BLOCK.len_utf8()).filter(|_| columns > 0)
    else {
        return line.to_owned();
    };
    let start = end - columns * BLOCK.len_utf8();
    format!("{}{color}{}{}{}", &line[..start], &line[start..end], theme::RESET, &line[end..])
}
