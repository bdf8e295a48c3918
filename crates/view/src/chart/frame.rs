//! What every picture has around its plot: the title above, the legend and the ending below.

use jiff::tz::TimeZone;
use report::{Category, Picture, Unit, Value};

use super::Style;
use super::letters::{cut, width, wrapped};
use super::svg::{Anchor, Letters, Short, Svg};
use super::time_axis::{self, Tick};
use crate::ending::{Line, ending_of_picture};
use crate::theme::{Color, Fill};

/// A picture with its surroundings drawn, and the place that is left for the plot.
pub(super) struct Frame {
    pub(super) svg: Svg,
    pub(super) plot: Plot,
}

/// A place, in units from the upper left.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Plot {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// A line of the legend.
pub(super) struct Entry {
    pub(super) sign: Sign,
    pub(super) name: String,
    /// Stands behind the name; blank if there is none.
    pub(super) value: String,
}

/// What stands before a name in the legend.
#[derive(Clone, Copy)]
pub(super) enum Sign {
    Area(Fill),
    Line { color: Color, dashes: &'static str },
}

const MARGIN: f64 = 16.0;
const TITLE: f64 = 16.0;
const SUBTITLE: f64 = 11.0;
const LEGEND: f64 = 10.5;
const LEGEND_LINE: f64 = 17.0;
const ENDING: f64 = 9.0;
const ENDING_LINE: f64 = 12.0;
pub(super) const AXIS: f64 = 10.0;
/// Room for the two lines of an axis of time.
pub(super) const AXIS_HEIGHT: f64 = 36.0;

/// Draws the surroundings of a plot. `heading` says what the axis on its left is of; `left` is what its labels need, `height` what it would like
/// to have, which it gets unless the picture's height is given.
pub(super) fn frame(
    picture: &Picture,
    entries: &[Entry],
    heading: &str,
    left: f64,
    height: f64,
    style: &Style<'_>,
) -> Frame {
    let theme = style.theme;
    let room = style.width - 2.0 * MARGIN;
    let subtitle = wrapped(&picture.subtitle, SUBTITLE, room);
    // On a page it stands below the picture, in letters that fit a narrow one.
    let ending = if style.has_tooltips { Vec::new() } else { ending_lines(picture, room) };
    let legend = legend_places(entries, room);
    let legend_lines = legend.last().map_or(0, |(line, _)| line + 1);

    let heading_height = if heading.is_empty() { 0.0 } else { AXIS + 4.0 };
    let above = MARGIN + TITLE + subtitle.len() as f64 * (SUBTITLE + 4.0) + 12.0 + heading_height;
    let below = AXIS_HEIGHT
        + legend_lines as f64 * LEGEND_LINE
        + 8.0
        + ending.len() as f64 * ENDING_LINE
        + MARGIN;
    let plot_height = style.height.map_or(height, |height| (height - above - below).max(1.0));
    let total = above + plot_height + below;
    let plot = Plot {
        left: MARGIN + left,
        top: above,
        width: (room - left).max(1.0),
        height: plot_height,
    };

    let mut svg = Svg::new(style.width, total, style.prefix, theme.paper);
    let letters = |size, color| Letters { size, bold: false, color, anchor: Anchor::Start };
    let title = cut(&picture.title, TITLE, true, room);
    let bold = Letters { bold: true, ..letters(TITLE, theme.ink) };
    svg.text(MARGIN, MARGIN + TITLE * 0.8, bold, &title);
    for (index, line) in subtitle.iter().enumerate() {
        let y = MARGIN + TITLE + (index + 1) as f64 * (SUBTITLE + 4.0) - 2.0;
        svg.text(MARGIN, y, letters(SUBTITLE, theme.faint), line);
    }
    if !heading.is_empty() {
        svg.text(MARGIN, plot.top - 8.0, letters(AXIS, theme.faint), heading);
    }
    let legend_top = plot.top + plot.height + AXIS_HEIGHT;
    for (entry, (line, x)) in entries.iter().zip(&legend) {
        let y = legend_top + *line as f64 * LEGEND_LINE;
        let x = MARGIN + x;
        match entry.sign {
            Sign::Area(fill) => {
                let paint = svg.paint(fill, true);
                let (x, y) = (Short(x), Short(y));
                svg.raw(format_args!(
                    "<rect x=\"{x}\" y=\"{y}\" width=\"12\" height=\"12\" fill=\"{paint}\" \
                     stroke=\"{}\" stroke-width=\"0.5\"/>\n",
                    theme.line
                ));
            }
            Sign::Line { color, dashes } => {
                let (x, y) = (Short(x), Short(y + 6.0));
                svg.raw(format_args!(
                    "<path d=\"M{x} {y}h12\" stroke=\"{color}\" stroke-width=\"2\" \
                     stroke-dasharray=\"{dashes}\" fill=\"none\"/>\n"
                ));
            }
        }
        svg.text(x + SIGN, y + 10.0, letters(LEGEND, theme.ink), &legend_words(entry));
    }
    let ending_top = legend_top + legend_lines as f64 * LEGEND_LINE + 8.0;
    for (index, line) in ending.iter().enumerate() {
        let y = ending_top + (index + 1) as f64 * ENDING_LINE - 2.0;
        svg.text(MARGIN, y, letters(ENDING, theme.faint), line);
    }
    Frame { svg, plot }
}

/// The legend's lines of a list of categories, with their part of what is shown.
pub(super) fn entries(categories: &[Category], style: &Style<'_>) -> Vec<Entry> {
    let entry = |category: &Category| Entry {
        sign: Sign::Area(style.theme.fill(category.kind)),
        name: category.name.clone(),
        value: percent(category),
    };
    categories.iter().map(entry).collect()
}

/// A category's part of what is shown, as people read it.
pub(crate) fn percent(category: &Category) -> String {
    match category.percent {
        Some(percent) => {
            format!("{} %", Unit::Percent.show(&Value::Number(percent), &TimeZone::UTC))
        }
        None => String::new(),
    }
}

const SIGN: f64 = 17.0;
const LEGEND_GAP: f64 = 18.0;

fn legend_words(entry: &Entry) -> String {
    let name = cut(&entry.name, LEGEND, false, 220.0);
    if entry.value.is_empty() { name } else { format!("{name} {}", entry.value) }
}

/// The line and the left edge of each entry: as many in a line as fit.
fn legend_places(entries: &[Entry], room: f64) -> Vec<(usize, f64)> {
    let (mut line, mut x) = (0, 0.0);
    let mut places = Vec::with_capacity(entries.len());
    for entry in entries {
        let needed = SIGN + width(&legend_words(entry), LEGEND, false);
        if x > 0.0 && x + needed > room {
            (line, x) = (line + 1, 0.0);
        }
        places.push((line, x));
        x += needed + LEGEND_GAP;
    }
    places
}

/// No picture consists of notes: what does not fit stands in the other formats.
const MOST_ENDING_LINES: usize = 12;

fn ending_lines(picture: &Picture, room: f64) -> Vec<String> {
    let words = |line: Line| match line {
        Line::Plain(words) => words,
        Line::Warning(words) => format!("Warning: {words}"),
        Line::Note(words) => format!("Note: {words}"),
    };
    let mut lines: Vec<String> = ending_of_picture(picture)
        .into_iter()
        .flat_map(|line| wrapped(&words(line), ENDING, room))
        .collect();
    if lines.len() > MOST_ENDING_LINES {
        let left_out = lines.len() - (MOST_ENDING_LINES - 1);
        lines.truncate(MOST_ENDING_LINES - 1);
        lines.push(format!("… and {left_out} more lines, which the HTML and the JSON have."));
    }
    lines
}

/// Says in the middle of a plot that it is empty.
pub(super) fn nothing(frame: &mut Frame, style: &Style<'_>) {
    let letters =
        Letters { size: 12.0, bold: false, color: style.theme.faint, anchor: Anchor::Middle };
    let plot = frame.plot;
    let middle = (plot.left + plot.width / 2.0, plot.top + plot.height / 2.0 + 4.0);
    frame.svg.text(middle.0, middle.1, letters, "Nothing to show");
}

/// Draws the marks of the axis on the left, and thin lines from them through the plot; `y` is where
/// an amount lies.
pub(super) fn amount_axis(
    frame: &mut Frame,
    marks: &[(f64, String)],
    y: impl Fn(f64) -> f64,
    style: &Style<'_>,
) {
    let plot = frame.plot;
    let letters = Letters { size: AXIS, bold: false, color: style.theme.ink, anchor: Anchor::End };
    for (mark, words) in marks {
        let y = y(*mark);
        frame.svg.line((plot.left, y), (plot.left + plot.width, y), style.theme.line, 0.5);
        frame.svg.text(plot.left - 6.0, y + AXIS * 0.36, letters, words);
    }
}

/// Says below the marks what the axis at the bottom is of.
pub(super) fn bottom_heading(frame: &mut Frame, heading: &str, style: &Style<'_>) {
    let plot = frame.plot;
    let letters =
        Letters { size: AXIS, bold: false, color: style.theme.faint, anchor: Anchor::Middle };
    let (x, y) = (plot.left + plot.width / 2.0, plot.top + plot.height + 29.0);
    frame.svg.text(x, y, letters, heading);
}

/// The room that the words of an axis on the left need.
pub(super) fn axis_room<'a>(words: impl Iterator<Item = &'a str>) -> f64 {
    words.map(|words| width(words, AXIS, false)).fold(0.0, f64::max) + 12.0
}

/// Draws an axis of time below the plot, and thin lines up through it where `has_grid`.
pub(super) fn time_axis(
    frame: &mut Frame,
    picture: &Picture,
    edges: &[jiff::Timestamp],
    has_grid: bool,
    style: &Style<'_>,
) {
    let (Some(&start), Some(&end)) = (edges.first(), edges.last()) else { return };
    let plot = frame.plot;
    if style.has_tooltips {
        // For the page's script: which time lies where.
        let (left, right) = (Short(plot.left), Short(plot.left + plot.width));
        frame.svg.raw(format_args!(
            "<g class=\"time\" data-left=\"{left}\" data-right=\"{right}\" data-start=\"{}\" \
             data-end=\"{}\"></g>\n",
            start.as_second(),
            end.as_second(),
        ));
    }
    let most = (plot.width / 58.0) as usize;
    for Tick { time, label, below } in time_axis::ticks(start, end, &picture.period.zone, most) {
        let x = time_x(&plot, start, end, time);
        let bottom = plot.top + plot.height;
        if has_grid {
            frame.svg.line((x, plot.top), (x, bottom), style.theme.line, 0.5);
        }
        mark(frame, x, &label, &below, style);
    }
}

/// Where a moment lies.
pub(super) fn time_x(
    plot: &Plot,
    start: jiff::Timestamp,
    end: jiff::Timestamp,
    time: jiff::Timestamp,
) -> f64 {
    let whole = (end.as_millisecond() - start.as_millisecond()).max(1) as f64;
    plot.left + plot.width * (time.as_millisecond() - start.as_millisecond()) as f64 / whole
}

/// A mark below the plot with its one or two lines.
pub(super) fn mark(frame: &mut Frame, x: f64, label: &str, below: &str, style: &Style<'_>) {
    let plot = frame.plot;
    let bottom = plot.top + plot.height;
    let letters =
        Letters { size: AXIS, bold: false, color: style.theme.ink, anchor: Anchor::Middle };
    frame.svg.line((x, bottom), (x, bottom + 4.0), style.theme.faint, 1.0);
    // The outermost stay inside the picture.
    let inside = |text: &str| {
        let half = width(text, AXIS, false) / 2.0;
        x.min(style.width - half - 2.0).max(half + 2.0)
    };
    frame.svg.text(inside(label), bottom + 15.0, letters, label);
    if !below.is_empty() {
        let letters = Letters { color: style.theme.faint, ..letters };
        frame.svg.text(inside(below), bottom + 27.0, letters, below);
    }
}
