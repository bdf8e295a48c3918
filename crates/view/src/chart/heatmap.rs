//! Rows over time, a colour a category.

use std::fmt::Write;

use jiff::Timestamp;
use report::{Cells, Columns, Grid, GridRow, Kind, Picture, Run, Unit, Value};

use super::cells;
use super::frame::{self, Entry, Frame, Plot, Sign};
use super::letters::{cut, width};
use super::svg::{Anchor, Letters, Short, escaped};
use super::{Style, scale};
use crate::theme::Fill;

/// Neighbouring cells of a category are one shape, and where nothing is to say what it is when
/// pointed at, all shapes of a category are one element: a small file, quickly drawn.
pub(super) fn draw(picture: &Picture, grid: &Grid, style: &Style<'_>) -> String {
    let wanted = wanted_row_height(grid);
    let rows = grid.rows.len().max(1) as f64;
    let margin = margin(grid, wanted, style);
    let mut frame =
        frame::frame(picture, &legend(grid, style), "", margin.width(), wanted * rows, style);
    let row_height = frame.plot.height / rows;
    let edges = column_edges(picture, grid, &frame.plot);

    match &grid.cells {
        Cells::Longest(cells) if style.has_tooltips => {
            let runs: Vec<_> = (0..grid.rows.len()).map(|row| grid.runs(row)).collect();
            let is_large = runs.iter().map(Vec::len).sum::<usize>() > MOST_RUNS;
            if is_large && cells::draw(&mut frame, grid, cells, &edges, row_height, style.theme) {
                draw_row_tooltips(&mut frame, grid, row_height, style.prefix);
            } else {
                draw_longest_rows(&mut frame, picture, grid, &runs, &edges, row_height, style);
            }
        }
        Cells::Longest(_) => draw_longest(&mut frame, grid, &edges, row_height, style),
        Cells::Parts(parts) => {
            draw_parts(&mut frame, grid, parts, &edges, row_height, style);
            if style.has_tooltips {
                draw_row_tooltips(&mut frame, grid, row_height, style.prefix);
            }
        }
        Cells::Numbers { values, unit } => {
            draw_numbers(&mut frame, picture, grid, values, *unit, &edges, row_height, style);
        }
    }
    if style.has_tooltips {
        describe_columns(&mut frame, picture, grid, &edges);
    }
    draw_labels(&mut frame, grid, &margin, row_height, style);
    if grid.rows.is_empty() {
        frame::nothing(&mut frame, style);
    }
    match &grid.columns {
        Columns::Times(times) => frame::time_axis(&mut frame, picture, times, false, style),
        Columns::Labels(labels) => {
            let mut free_from = f64::NEG_INFINITY;
            for (index, label) in labels.iter().enumerate() {
                let middle = (edges[index] + edges[index + 1]) / 2.0;
                let half = width(label, frame::AXIS, false) / 2.0;
                if middle - half > free_from {
                    frame::mark(&mut frame, middle, label, "", style);
                    free_from = middle + half + 4.0;
                }
            }
        }
    }
    frame.svg.finish(&picture.title)
}

/// Rows that can bear a label of their own do; then rows become thinner, until a row of one GPU is
/// about three pixels high at 300 dots an inch. It never becomes less: a picture of more rows is
/// higher.
fn wanted_row_height(grid: &Grid) -> f64 {
    let rows = grid.rows.len().max(1) as f64;
    let (room, most, least) = match grid.cells {
        Cells::Longest(_) => (900.0, 18.0, 1.0),
        Cells::Parts(_) => (1000.0, 30.0, 2.5),
        Cells::Numbers { .. } => (900.0, 30.0, 4.0),
    };
    let height = (room / rows).clamp(least, most);
    // Nothing is a message in the middle of some room.
    if grid.rows.is_empty() { 60.0 } else { height }
}

/// The room that labels have.
struct Margin {
    /// Of machines or devices, which stand beside several rows.
    groups: f64,
    /// Of the rows; none where these are too thin for letters.
    rows: f64,
    row_letters: f64,
}

impl Margin {
    fn width(&self) -> f64 {
        let gap = |width: f64| if width > 0.0 { width + GAP } else { 0.0 };
        gap(self.groups) + gap(self.rows)
    }
}

const GAP: f64 = 7.0;
const GROUP_LETTERS: f64 = 9.5;
const MOST_ROW_LETTERS: f64 = 9.5;
/// Letters that are smaller than this are not read.
const LEAST_LETTERS: f64 = 5.5;

fn margin(grid: &Grid, row_height: f64, style: &Style<'_>) -> Margin {
    let widest = |label: fn(&GridRow) -> &str, size: f64| {
        let widths = grid.rows.iter().map(|row| width(label(row), size, false));
        widths.fold(0.0, f64::max).min(style.width * 0.2)
    };
    let row_letters = (row_height - 1.0).min(MOST_ROW_LETTERS);
    let rows_are_folded = matches!(grid.cells, Cells::Parts(_));
    // A row that stands for a machine is what people look for: some of them have a label even if
    // not all can.
    let row_letters = if rows_are_folded { row_letters.max(7.0) } else { row_letters };
    let rows = match row_letters >= LEAST_LETTERS {
        true => widest(|row| &row.label, row_letters),
        false => 0.0,
    };
    Margin { groups: widest(|row| &row.group, GROUP_LETTERS), rows, row_letters }
}

fn draw_labels(
    frame: &mut Frame,
    grid: &Grid,
    margin: &Margin,
    row_height: f64,
    style: &Style<'_>,
) {
    let plot = frame.plot;
    let letters = |size| Letters { size, bold: false, color: style.theme.ink, anchor: Anchor::End };
    if margin.rows > 0.0 {
        let mut free_from = f64::NEG_INFINITY;
        for (index, row) in grid.rows.iter().enumerate() {
            let middle = plot.top + (index as f64 + 0.5) * row_height;
            if middle < free_from {
                continue;
            }
            free_from = middle + margin.row_letters;
            let label = cut(&row.label, margin.row_letters, false, margin.rows);
            let y = middle + margin.row_letters * 0.36;
            frame.svg.text(plot.left - GAP, y, letters(margin.row_letters), &label);
        }
    }
    if margin.groups > 0.0 {
        let right = plot.left - GAP - if margin.rows > 0.0 { margin.rows + GAP } else { 0.0 };
        let mut free_from = f64::NEG_INFINITY;
        let mut start = 0;
        for group in grid.rows.chunk_by(|one, other| one.group == other.group) {
            let (top, rows) = (plot.top + start as f64 * row_height, group.len() as f64);
            start += group.len();
            if top > plot.top && rows * row_height >= LEAST_DIVIDED {
                let (left, end) = (right - margin.groups, plot.left + plot.width);
                frame.svg.line((plot.left, top), (end, top), style.theme.paper, 1.0);
                frame.svg.line((left, top), (right, top), style.theme.line, 0.5);
            }
            let middle = top + rows * row_height / 2.0;
            if middle < free_from {
                continue;
            }
            free_from = middle + GROUP_LETTERS;
            let label = cut(&group[0].group, GROUP_LETTERS, false, margin.groups);
            frame.svg.text(right, middle + GROUP_LETTERS * 0.36, letters(GROUP_LETTERS), &label);
        }
    }
}

/// Groups that are lower than this have no line between them: it would hide too much.
const LEAST_DIVIDED: f64 = 12.0;

/// Where columns begin, and where the last one ends.
fn column_edges(picture: &Picture, grid: &Grid, plot: &Plot) -> Vec<f64> {
    match &grid.columns {
        Columns::Times(times) => {
            let start = times.first().copied().unwrap_or(picture.period.start);
            let end = times.last().copied().unwrap_or(picture.period.end);
            times.iter().map(|time| frame::time_x(plot, start, end, *time)).collect()
        }
        Columns::Labels(labels) => {
            let column = plot.width / labels.len().max(1) as f64;
            (0..=labels.len()).map(|index| plot.left + index as f64 * column).collect()
        }
    }
}

/// Hatching needs room for its lines.
const LEAST_HATCHED: f64 = 4.0;

fn draw_longest(frame: &mut Frame, grid: &Grid, edges: &[f64], row_height: f64, style: &Style<'_>) {
    let mut shapes = vec![String::new(); grid.categories.len()];
    for row in 0..grid.rows.len() {
        let top = frame.plot.top + row as f64 * row_height;
        for run in grid.runs(row) {
            let Some(shape) = shapes.get_mut(usize::from(run.category)) else { continue };
            push_rect(shape, edges[run.start], edges[run.end], top, row_height);
        }
    }
    for (category, shape) in grid.categories.iter().zip(shapes) {
        if !shape.is_empty() {
            let paint =
                frame.svg.paint(style.theme.fill(category.kind), row_height >= LEAST_HATCHED);
            draw_cells(frame, &shape, &paint);
        }
    }
}

/// More shapes than these would make a page heavy, whose cells are pixels then.
const MOST_RUNS: usize = 1500;

/// A row a group, so that a script can find and dim it; while there are few, a run an element, which
/// says what it is without any script. Of many a page would be too heavy: then a row says what it is.
fn draw_longest_rows(
    frame: &mut Frame,
    picture: &Picture,
    grid: &Grid,
    runs: &[Vec<Run>],
    edges: &[f64],
    row_height: f64,
    style: &Style<'_>,
) {
    const MOST_ELEMENTS: usize = 400;
    let runs_speak = runs.iter().map(Vec::len).sum::<usize>() <= MOST_ELEMENTS;
    let paints: Vec<String> = grid
        .categories
        .iter()
        .map(|category| {
            frame.svg.paint(style.theme.fill(category.kind), row_height >= LEAST_HATCHED)
        })
        .collect();
    let name = |category: u16| match grid.categories.get(usize::from(category)) {
        Some(category) => category.name.as_str(),
        None => "",
    };
    frame.svg.raw(format_args!("<g shape-rendering=\"crispEdges\">\n"));
    for (index, (row, runs)) in grid.rows.iter().zip(runs).enumerate() {
        let top = frame.plot.top + index as f64 * row_height;
        let mut elements = String::new();
        if runs_speak {
            for run in runs {
                let Some(paint) = paints.get(usize::from(run.category)) else { continue };
                let (x, y) = (Short(edges[run.start]), Short(top));
                let (width, height) = (Short(edges[run.end] - edges[run.start]), Short(row_height));
                let title = format!(
                    "{}\n{}\n{}",
                    about(row),
                    column_words(picture, grid, run.start, run.end),
                    name(run.category)
                );
                elements += &format!(
                    "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" \
                     fill=\"{paint}\"><title>{}</title></rect>",
                    lines_escaped(&title)
                );
            }
        } else {
            elements += &format!("<title>{}</title>", lines_escaped(&about(row)));
            for (category, paint) in paints.iter().enumerate() {
                let mut shape = String::new();
                for run in runs.iter().filter(|run| usize::from(run.category) == category) {
                    push_rect(&mut shape, edges[run.start], edges[run.end], top, row_height);
                }
                if !shape.is_empty() {
                    elements += &format!("<path d=\"{shape}\" fill=\"{paint}\"/>");
                }
            }
        }
        let words = match runs_speak {
            true => format!(" data-about=\"{}\"", lines_escaped(&about(row))),
            false => String::new(),
        };
        let runs: Vec<String> =
            runs.iter().map(|run| format!("{}*{}", run.category, run.end - run.start)).collect();
        frame.svg.raw(format_args!(
            "<g class=\"row\"{words} data-runs=\"{}\">{elements}</g>\n",
            runs.join(" "),
        ));
    }
    frame.svg.raw(format_args!("</g>\n"));
}

/// For the page's script: where columns begin, what they are, and the names of the categories. Of times
/// there is one more than columns, and the script makes the words of [`column_words`] of them: written
/// out these would be twice as long.
fn describe_columns(frame: &mut Frame, picture: &Picture, grid: &Grid, edges: &[f64]) {
    let edges: Vec<String> = edges.iter().map(|edge| Short(*edge).to_string()).collect();
    let (name, words) = match &grid.columns {
        Columns::Times(times) => {
            let zone = &picture.period.zone;
            let written = |time: &Timestamp| time.to_zoned(zone.clone()).strftime(EDGE).to_string();
            ("times", times.iter().map(written).collect())
        }
        Columns::Labels(labels) => ("columns", labels.clone()),
    };
    frame.svg.raw(format_args!(
        "<g class=\"columns\" data-edges=\"{}\" data-{name}=\"{}\" data-categories=\"{}\"></g>\n",
        edges.join(" "),
        listed(words.iter().map(String::as_str)),
        listed(grid.categories.iter().map(|category| &*category.name)),
    ));
}

/// How the script reads the edge of a column: 16 characters of date and time, then the zone.
const EDGE: &str = "%Y-%m-%d %H:%M %Z";

/// What a row is, for who points at it.
fn about(row: &GridRow) -> String {
    about_lines(row).join("\n")
}

/// The same, what it is called first.
fn about_lines(row: &GridRow) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    match (&row.gpu_id, row.gpus) {
        (Some(id), _) => lines.push(format!("GPU {id}")),
        (None, Some(1)) => lines.push(format!("{}, 1 GPU", row.label)),
        (None, Some(gpus)) => lines.push(format!("{}, {gpus} GPUs", row.label)),
        (None, None) => lines.push(row.label.clone()),
    }
    if let Some(machine) = row.machine.as_ref().filter(|machine| **machine != row.label) {
        lines.push(match &row.cluster {
            Some(cluster) => format!("{machine} ({cluster})"),
            None => machine.clone(),
        });
    }
    lines.extend(row.device.clone().filter(|device| *device != row.label));
    lines.extend(row.class.clone());
    lines
}

/// Which time or columns a stretch is.
fn column_words(picture: &Picture, grid: &Grid, start: usize, end: usize) -> String {
    match &grid.columns {
        Columns::Times(times) => {
            let zoned = |index: usize| times[index].to_zoned(picture.period.zone.clone());
            let (from, to) = (zoned(start), zoned(end));
            let format = if from.date() == to.date() { "%H:%M %Z" } else { "%Y-%m-%d %H:%M %Z" };
            format!("{} to {}", from.strftime("%Y-%m-%d %H:%M"), to.strftime(format))
        }
        Columns::Labels(labels) => labels[start..end].join(", "),
    }
}

fn lines_escaped(text: &str) -> String {
    listed(text.split('\n'))
}

/// Texts as an attribute has them, a line each.
fn listed<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    texts.map(escaped).collect::<Vec<_>>().join("\n")
}

fn push_rect(shape: &mut String, left: f64, right: f64, top: f64, height: f64) {
    let (width, height) = (Short(right - left), Short(height));
    write!(shape, "M{} {}h{width}v{height}h-{width}z", Short(left), Short(top))
        .expect("a string takes whatever is written to it");
}

fn draw_cells(frame: &mut Frame, shape: &str, paint: &str) {
    frame.svg.raw(format_args!(
        "<path shape-rendering=\"crispEdges\" d=\"{shape}\" fill=\"{paint}\"/>\n"
    ));
}

/// Each row is a band in which categories stand on each other, the first of the legend at the
/// bottom. The one on top is drawn first, down to the ground, and the others over it.
fn draw_parts(
    frame: &mut Frame,
    grid: &Grid,
    parts: &[f32],
    edges: &[f64],
    row_height: f64,
    style: &Style<'_>,
) {
    let (categories, columns) = (grid.categories.len(), grid.columns.len());
    // A line of paper keeps neighbours apart where rows are high enough.
    let gap = if row_height >= 6.0 { 1.0 } else { 0.0 };
    let band = row_height - gap;
    for (category, shown) in grid.categories.iter().enumerate().rev() {
        let mut shape = String::new();
        for row in 0..grid.rows.len() {
            let cells = &parts[row * columns * categories..][..columns * categories];
            let cells: Vec<&[f32]> = cells.chunks_exact(categories).collect();
            if cells.iter().all(|cell| cell[category] <= 0.0) {
                continue;
            }
            let bottom = frame.plot.top + (row + 1) as f64 * row_height - gap;
            let heights = cells.iter().map(|cell| {
                let below: f32 = cell[..=category].iter().sum();
                f64::from(below.clamp(0.0, 1.0)) * band
            });
            push_steps(&mut shape, heights, edges, bottom);
        }
        if !shape.is_empty() {
            let is_large = row_height >= LEAST_HATCHED;
            let paint = frame.svg.paint(style.theme.fill(shown.kind), is_large);
            draw_cells(frame, &shape, &paint);
        }
    }
}

/// The area below steps, one step a column.
fn push_steps(shape: &mut String, heights: impl Iterator<Item = f64>, edges: &[f64], bottom: f64) {
    let (Some(&left), Some(&right)) = (edges.first(), edges.last()) else { return };
    let mut steps = format!("M{} {}", Short(left), Short(bottom));
    let mut level = 0.0;
    for (height, left) in heights.zip(edges) {
        let height = (height * 100.0).round() / 100.0; // as far as digits go
        if height != level {
            steps += &format!("H{}V{}", Short(*left), Short(bottom - height));
            level = height;
        }
    }
    *shape += &format!("{steps}H{}V{}z", Short(right), Short(bottom));
}

/// Rows that are not drawn each by itself say what they are by an area that is not seen, and that
/// covers those that are not asked for. What the GPUs of a machine have in common is said once.
fn draw_row_tooltips(frame: &mut Frame, grid: &Grid, row_height: f64, prefix: &str) {
    let plot = frame.plot;
    let (x, width, height) = (Short(plot.left), Short(plot.width), Short(row_height));
    frame.svg.raw(format_args!(
        "<defs><path id=\"{prefix}row\" d=\"M{x} 0h{width}v{height}H{x}z\"/></defs>\n\
         <g class=\"covers\" fill-opacity=\"0\">\n"
    ));
    let are_of_machine = |one: &GridRow, other: &GridRow| {
        one.gpu_id.is_some()
            && one.machine.is_some()
            && about_lines(one)[1..] == about_lines(other)[1..]
    };
    let mut index = 0;
    for alike in grid.rows.chunk_by(are_of_machine) {
        let lines = about_lines(&alike[0]);
        let common = if alike.len() > 1 { &lines[1..] } else { &lines[..] };
        frame.svg.raw(format_args!("<g><title>{}</title>", lines_escaped(&common.join("\n"))));
        for row in alike {
            let name = match alike.len() {
                1 => String::new(),
                _ => format!(" data-name=\"{}\"", escaped(&about_lines(row)[0])),
            };
            let y = Short(plot.top + f64::from(index) * row_height);
            frame.svg.raw(format_args!("<use href=\"#{prefix}row\" y=\"{y}\"{name}/>"));
            index += 1;
        }
        frame.svg.raw(format_args!("</g>\n"));
    }
    frame.svg.raw(format_args!("</g>\n"));
}

#[expect(clippy::too_many_arguments, reason = "what a cell is, and where it lies")]
fn draw_numbers(
    frame: &mut Frame,
    picture: &Picture,
    grid: &Grid,
    values: &[Option<f64>],
    unit: Unit,
    edges: &[f64],
    row_height: f64,
    style: &Style<'_>,
) {
    let highest = axis_end(values);
    let columns = grid.columns.len();
    // A page in the dark leaves these colours as they are: letters are chosen by what is below.
    frame.svg.raw(format_args!("<g class=\"numbers\">\n"));
    for (index, value) in values.iter().enumerate() {
        let (row, column) = (index / columns.max(1), index % columns.max(1));
        let (left, right) = (edges[column], edges[column + 1]);
        let top = frame.plot.top + row as f64 * row_height;
        let fill = match value {
            Some(value) => Fill { color: style.theme.level(value / highest), hatch: None },
            None => style.theme.fill(Kind::Unmeasured),
        };
        let paint = frame.svg.paint(fill, true);
        let shown = match value {
            Some(value) => unit.show(&Value::Number(*value), &picture.period.zone),
            None => "-".to_owned(),
        };
        let (x, y) = (Short(left), Short(top));
        let (cell_width, height) = (Short(right - left), Short(row_height));
        let tooltip = match (style.has_tooltips, grid.rows.get(row)) {
            (true, Some(row)) => format!(
                "<title>{}</title>",
                lines_escaped(&format!(
                    "{}\n{}\n{shown}",
                    about(row),
                    column_words(picture, grid, column, column + 1)
                ))
            ),
            _ => String::new(),
        };
        frame.svg.raw(format_args!(
            "<rect shape-rendering=\"crispEdges\" x=\"{x}\" y=\"{y}\" width=\"{cell_width}\" \
             height=\"{height}\" fill=\"{paint}\">{tooltip}</rect>\n"
        ));
        let size = 8.5;
        if row_height >= size + 3.0 && width(&shown, size, false) + 4.0 <= right - left {
            let letters = Letters {
                size,
                bold: false,
                color: style.theme.ink_on(fill.color),
                anchor: Anchor::Middle,
            };
            frame.svg.text((left + right) / 2.0, top + row_height / 2.0 + 3.0, letters, &shown);
        }
    }
    frame.svg.raw(format_args!("</g>\n"));
}

/// The round number at which the colours end.
fn axis_end(values: &[Option<f64>]) -> f64 {
    let highest = values.iter().flatten().copied().fold(0.0, f64::max);
    scale::ticks(highest, 4).last().copied().unwrap_or(1.0)
}

fn legend(grid: &Grid, style: &Style<'_>) -> Vec<Entry> {
    let Cells::Numbers { values, unit } = &grid.cells else {
        return frame::entries(&grid.categories, style);
    };
    let end = axis_end(values);
    let mut entries: Vec<Entry> = scale::ticks(end, 4)
        .into_iter()
        .map(|number| Entry {
            sign: Sign::Area(Fill { color: style.theme.level(number / end), hatch: None }),
            name: format!("{} {}", scale::shown(number), unit.sign()).trim_end().to_owned(),
            value: String::new(),
        })
        .collect();
    if values.iter().any(Option::is_none) {
        entries.push(Entry {
            sign: Sign::Area(style.theme.fill(Kind::Unmeasured)),
            name: "unknown".to_owned(),
            value: String::new(),
        });
    }
    entries
}
