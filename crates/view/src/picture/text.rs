//! A picture for a terminal: blocks of colour, or letters where there is none.

mod bars;
mod curves;
mod numbers;

use jiff::Timestamp;
use report::{
    Amounts, Category, Cells, Columns, Drawing, Grid, Histogram, Kind, Picture, Scatter, Series,
    Value,
};

use super::{PictureFormat, PictureLook, TerminalColors, TooLarge};
use crate::chart::{percent, time_ticks};
use crate::ending::{Line, ending_of_picture};
use crate::theme::{self, Color, letter};
use crate::visible::visible;

pub(super) struct Text;

impl PictureFormat for Text {
    fn name(&self) -> &'static str {
        "text"
    }

    fn meaning(&self) -> &'static str {
        "Coloured blocks for a terminal, letters where it has no colours"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["txt", "text"]
    }

    fn media_type(&self) -> &'static str {
        "text/plain; charset=utf-8"
    }

    fn is_drawn(&self) -> bool {
        true
    }

    fn render(&self, picture: &Picture, look: &PictureLook) -> Result<Vec<u8>, TooLarge> {
        let mut text = styled(&visible(&picture.title), theme::BOLD, look);
        text.push('\n');
        if !picture.subtitle.is_empty() {
            text += &visible(&picture.subtitle);
            text.push('\n');
        }
        text.push('\n');
        match &picture.drawing {
            Drawing::Grid(grid) => write_grid(&mut text, picture, grid, look),
            Drawing::Series(series) => write_series(&mut text, picture, series, look),
            Drawing::Histogram(histogram) => write_histogram(&mut text, picture, histogram, look),
            Drawing::Bars(bars) => bars::write(&mut text, picture, bars, look),
            Drawing::Curves(curves) => curves::write(&mut text, curves, look),
            Drawing::Scatter(scatter) => write_scatter(&mut text, picture, scatter),
        }
        text.push('\n');
        for line in ending_of_picture(picture) {
            text += &match line {
                Line::Plain(words) => words,
                Line::Warning(words) => styled(&format!("warning: {words}"), theme::WARNING, look),
                Line::Note(words) => format!("note: {words}"),
            };
            text.push('\n');
        }
        Ok(text.into_bytes())
    }
}

fn styled(text: &str, style: &str, look: &PictureLook) -> String {
    match look.terminal_colors {
        TerminalColors::None => text.to_owned(),
        _ => format!("{style}{text}{}", theme::RESET),
    }
}

/// A picture that is wider than the terminal is cut into stretches of time, one below the other:
/// to show fewer, longer buckets would be to compute.
fn write_grid(text: &mut String, picture: &Picture, grid: &Grid, look: &PictureLook) {
    if grid.rows.is_empty() || grid.columns.is_empty() {
        text.push_str("Nothing to show.\n");
        return;
    }
    let margin = row_labels(grid).iter().map(|label| columns(label)).max().unwrap_or(0);
    if let Some(cells) = numbers::of(grid, margin, look) {
        return numbers::write(text, grid, &cells, look);
    }
    // Half a block a bucket where there are two colours in a character.
    let per_character = if look.terminal_colors == TerminalColors::None { 1 } else { 2 };
    let columns = grid.columns.len();
    for start in (0..columns).step_by(stretch(look, margin, per_character)) {
        let end = columns.min(start + stretch(look, margin, per_character));
        if start > 0 {
            text.push('\n');
        }
        write_heading(text, picture, grid, start..end, margin, per_character);
        for (index, mut line) in row_labels(grid).into_iter().enumerate() {
            let cells: Vec<(Color, char)> =
                (start..end).map(|column| cell(grid, index, column, look)).collect();
            write_cells(&mut line, &cells, look.terminal_colors);
            text.push_str(line.trim_end());
            text.push('\n');
        }
    }
    text.push('\n');
    write_legend(text, grid, look);
}

/// What stands beside each row, all equally wide: its group where that is a new one, and its label.
fn row_labels(grid: &Grid) -> Vec<String> {
    let group_width = widest(grid.rows.iter().map(|row| row.group.as_str()), 24);
    let label_width = widest(grid.rows.iter().map(|row| row.label.as_str()), 24);
    let mut group = None;
    let mut labels = Vec::with_capacity(grid.rows.len());
    for row in &grid.rows {
        let mut line = String::new();
        if group_width > 0 {
            let is_new = group != Some(&row.group);
            line += &padded(if is_new { &row.group } else { "" }, group_width);
            group = Some(&row.group);
        }
        if label_width > 0 {
            line += &padded(&row.label, label_width);
        }
        labels.push(line);
    }
    labels
}

/// How many buckets fit beside the labels.
fn stretch(look: &PictureLook, margin: usize, per_character: usize) -> usize {
    match look.terminal_columns {
        Some(columns) => columns.saturating_sub(margin).max(4) * per_character,
        None => usize::MAX,
    }
}

/// The colour and the letter of a cell. A row of several GPUs shows what most of them did.
fn cell(grid: &Grid, row: usize, column: usize, look: &PictureLook) -> (Color, char) {
    let place = row * grid.columns.len() + column;
    let of = |category: Option<&Category>| match category {
        Some(category) => (look.theme.fill(category.kind).color, letter(category.kind)),
        None => (look.theme.paper, ' '),
    };
    match &grid.cells {
        Cells::Longest(cells) => of(grid.categories.get(usize::from(cells[place].category))),
        Cells::Parts(parts) => {
            let categories = grid.categories.len();
            let parts = parts[place * categories..][..categories].iter().enumerate();
            let most = parts.rev().max_by(|(_, one), (_, other)| one.total_cmp(other));
            of(most.and_then(|(category, _)| grid.categories.get(category)))
        }
        Cells::Numbers { values, .. } => match values[place] {
            Some(value) => {
                let part = value / highest(values);
                let digit = (part * 9.0).round().clamp(0.0, 9.0) as u8;
                (look.theme.level(part), char::from(b'0' + digit))
            }
            None => (look.theme.paper, '?'),
        },
    }
}

fn highest(values: &[Option<f64>]) -> f64 {
    values.iter().flatten().copied().fold(0.0, f64::max).max(f64::MIN_POSITIVE)
}

fn write_cells(line: &mut String, cells: &[(Color, char)], colors: TerminalColors) {
    if colors == TerminalColors::None {
        line.extend(cells.iter().map(|(_, letter)| *letter));
        return;
    }
    let mut last = None;
    for pair in cells.chunks(2) {
        let (left, right) = (pair[0].0, pair.get(1).map(|cell| cell.0));
        if last != Some((left, right)) {
            match right {
                Some(right) => *line += &format!("{}{}", ink(left, colors), paper(right, colors)),
                None => *line += &format!("{}{}", theme::RESET, ink(left, colors)),
            }
            last = Some((left, right));
        }
        line.push('▌');
    }
    line.push_str(theme::RESET);
}

fn ink(color: Color, colors: TerminalColors) -> String {
    match colors {
        TerminalColors::True => format!("\x1b[38;2;{};{};{}m", color.0, color.1, color.2),
        _ => format!("\x1b[38;5;{}m", color.indexed()),
    }
}

fn paper(color: Color, colors: TerminalColors) -> String {
    match colors {
        TerminalColors::True => format!("\x1b[48;2;{};{};{}m", color.0, color.1, color.2),
        _ => format!("\x1b[48;5;{}m", color.indexed()),
    }
}

/// The times, or what else stands along the columns, each above where it begins.
fn write_heading(
    text: &mut String,
    picture: &Picture,
    grid: &Grid,
    columns: std::ops::Range<usize>,
    margin: usize,
    per_character: usize,
) {
    let at = |column: usize| margin + (column - columns.start) / per_character;
    let (mut above, mut line) = (String::new(), String::new());
    match &grid.columns {
        Columns::Times(edges) => {
            write_times(
                &mut above,
                &mut line,
                picture,
                &edges[columns.start..=columns.end],
                at(columns.start),
                at(columns.end),
            );
        }
        Columns::Labels(labels) => {
            for column in columns.clone() {
                place(&mut line, at(column), &labels[column]);
            }
        }
    }
    for line in [above, line].iter().filter(|line| !line.is_empty()) {
        text.push_str(line);
        text.push('\n');
    }
}

fn write_times(
    above: &mut String,
    line: &mut String,
    picture: &Picture,
    edges: &[Timestamp],
    left: usize,
    right: usize,
) {
    let (Some(&start), Some(&end)) = (edges.first(), edges.last()) else { return };
    for tick in time_ticks(start, end, &picture.period.zone, (right - left) / 12) {
        let Some(column) = edges.iter().position(|edge| *edge >= tick.time) else { continue };
        let at = left + column * (right - left) / edges.len().saturating_sub(1).max(1);
        place(above, at, &tick.below);
        place(line, at, &tick.label);
    }
}

/// Writes words at a column of the terminal, unless others stand there.
fn place(line: &mut String, at: usize, words: &str) {
    let width = line.chars().count();
    if words.is_empty() || (width > 0 && at <= width) {
        return;
    }
    line.push_str(&" ".repeat(at - width));
    line.push_str(words);
}

fn write_legend(text: &mut String, grid: &Grid, look: &PictureLook) {
    if let Cells::Numbers { values, unit } = &grid.cells {
        let zone = jiff::tz::TimeZone::UTC;
        let shown = unit.show(&Value::Number(highest(values)), &zone);
        *text += &format!("0 to 9: 0 to {shown}; ? not known\n");
        return;
    }
    for category in &grid.categories {
        let name = visible(&category.name);
        let sign = sign(category.kind, look);
        *text += format!("{sign}  {name}  {}", percent(category)).trim_end();
        text.push('\n');
    }
}

/// What stands for a kind in a legend: its colour, or its letter where there is none.
fn sign(kind: Kind, look: &PictureLook) -> String {
    match look.terminal_colors {
        TerminalColors::None => letter(kind).to_string(),
        colors => {
            let color = look.theme.fill(kind).color;
            format!("{}██{}", ink(color, colors), theme::RESET)
        }
    }
}

/// A line of bars for each thing; a dot where it is not known.
fn write_series(text: &mut String, picture: &Picture, series: &Series, look: &PictureLook) {
    const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let all: Vec<&Amounts> = series.lines.iter().chain(series.stacked.iter().rev()).collect();
    let buckets = series.edges.len().saturating_sub(1);
    if all.is_empty() || buckets == 0 {
        text.push_str("Nothing to show.\n");
        return;
    }
    let end = all.iter().map(|amounts| highest(&amounts.values)).fold(0.0, f64::max);
    let mean = |amounts: &Amounts| {
        let mean = amounts.mean.map_or(Value::Unknown, Value::Number);
        format!("mean {}", series.unit.show(&mean, &picture.period.zone))
    };
    let name_width = widest(all.iter().map(|amounts| amounts.name.as_str()), 24);
    let means: Vec<String> = all.iter().map(|amounts| mean(amounts)).collect();
    let mean_width = widest(means.iter().map(String::as_str), 24);
    let margin = name_width + 1 + mean_width + 1;
    let stretch = stretch(look, margin, 1);
    for start in (0..buckets).step_by(stretch) {
        let stop = buckets.min(start.saturating_add(stretch));
        let (mut above, mut line) = (String::new(), String::new());
        let edges = &series.edges[start..=stop];
        write_times(&mut above, &mut line, picture, edges, margin, margin + stop - start);
        *text += &format!("{above}\n{line}\n");
        for (amounts, mean) in all.iter().zip(&means) {
            *text += &padded(&amounts.name, name_width);
            *text += &padded(mean, mean_width);
            let bars = (start..stop).map(|bucket| match amounts.values.get(bucket) {
                Some(Some(value)) => {
                    let level = (value / end * LEVELS.len() as f64).ceil() as usize;
                    if *value > 0.0 { LEVELS[level.clamp(1, LEVELS.len()) - 1] } else { ' ' }
                }
                _ => '·',
            });
            text.extend(bars);
            text.truncate(text.trim_end().len());
            text.push('\n');
        }
        let is_partial = |bucket: usize| series.partial.get(bucket).copied().unwrap_or(false);
        if (start..stop).any(is_partial) {
            *text += &padded("partial", margin - 1);
            text.extend((start..stop).map(|bucket| if is_partial(bucket) { '*' } else { ' ' }));
            text.truncate(text.trim_end().len());
            text.push('\n');
        }
    }
    let shown = series.unit.show(&Value::Number(end), &picture.period.zone);
    *text += &format!("\n{}: █ is {shown}, · is not known", visible(&series.heading));
    if series.partial.contains(&true) {
        *text += ", * is partial and not in the mean";
    }
    text.push('\n');
}

/// A terminal has too few places for dots: it gets their numbers.
fn write_scatter(text: &mut String, picture: &Picture, scatter: &Scatter) {
    let zone = &picture.period.zone;
    let wide = widest(scatter.dots.iter().map(|dot| dot.name.as_str()), 24);
    let (across, up) = (&scatter.across, &scatter.up);
    *text += &format!("{:wide$} {:>12} {:>12}\n", "", across.heading, up.heading);
    for dot in &scatter.dots {
        let shown = [(across, dot.across), (up, dot.up)]
            .map(|(axis, amount)| axis.unit.show(&Value::Number(amount), zone));
        *text += &format!("{:wide$} {:>12} {:>12}\n", visible(&dot.name), shown[0], shown[1]);
    }
}

fn write_histogram(
    text: &mut String,
    picture: &Picture,
    histogram: &Histogram,
    look: &PictureLook,
) {
    let label_width = widest(histogram.bins.iter().map(|bin| bin.label.as_str()), 24);
    let room = look
        .terminal_columns
        .map_or(50, |columns| columns.saturating_sub(label_width + 16).clamp(10, 50));
    let highest = histogram.bins.iter().map(|bin| bin.count).fold(0.0, f64::max);
    *text += &format!("{} by {}\n", visible(&histogram.count_heading), visible(&histogram.heading));
    for bin in &histogram.bins {
        let length = if highest > 0.0 { bin.count / highest * room as f64 } else { 0.0 };
        let length = if bin.count > 0.0 { (length.round() as usize).max(1) } else { 0 };
        let count = histogram.count_unit.show(&Value::Number(bin.count), &picture.period.zone);
        *text += &format!("{}{} {count}\n", padded(&bin.label, label_width), "█".repeat(length));
    }
}

fn widest<'a>(texts: impl Iterator<Item = &'a str>, most: usize) -> usize {
    texts.map(|text| columns(&visible(text))).max().unwrap_or(0).min(most)
}

/// The text in so many columns of a terminal and a blank, cut if it is longer.
fn padded(text: &str, width: usize) -> String {
    let text = visible(text);
    let mut shown = String::new();
    let is_cut = columns(&text) > width;
    for character in text.chars() {
        let room = width - usize::from(is_cut);
        if columns(&shown) + columns_of(character) > room {
            break;
        }
        shown.push(character);
    }
    if is_cut {
        shown.push('…');
    }
    let missing = (width + 1).saturating_sub(columns(&shown));
    shown + &" ".repeat(missing)
}

fn columns(text: &str) -> usize {
    text.chars().map(columns_of).sum()
}

/// How many columns of a terminal a character takes, near enough for names: two for those of
/// Chinese, Japanese and Korean and for pictures, none for marks over other letters.
fn columns_of(character: char) -> usize {
    match character {
        '\u{300}'..='\u{36f}' | '\u{200b}'..='\u{200d}' => 0,
        '\u{1100}'..='\u{115f}'
        | '\u{2e80}'..='\u{a4cf}'
        | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}'
        | '\u{fe30}'..='\u{fe6f}'
        | '\u{ff00}'..='\u{ff60}'
        | '\u{ffe0}'..='\u{ffe6}'
        | '\u{1f300}'..='\u{1faff}'
        | '\u{20000}'..='\u{3fffd}' => 2,
        _ => 1,
    }
}
