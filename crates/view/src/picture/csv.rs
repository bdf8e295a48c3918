//! A picture's numbers as comma-separated values, a line a cell.

use report::{
    Band, Bars, Cells, Columns, Curves, Drawing, Grid, GridRow, Histogram, Picture, Scatter, Series,
};

use super::{PictureFormat, PictureLook, TooLarge};
use crate::format::write_csv_line as write_line;

pub(super) struct Csv;

impl PictureFormat for Csv {
    fn name(&self) -> &'static str {
        "csv"
    }

    fn meaning(&self) -> &'static str {
        "The numbers alone, a line a cell, unknown as an empty one"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["csv"]
    }

    fn media_type(&self) -> &'static str {
        "text/csv; charset=utf-8; header=present"
    }

    fn is_drawn(&self) -> bool {
        false
    }

    fn render(&self, picture: &Picture, _look: &PictureLook) -> Result<Vec<u8>, TooLarge> {
        Ok(match &picture.drawing {
            Drawing::Grid(grid) => write_grid(grid),
            Drawing::Series(series) => write_series(series),
            Drawing::Histogram(histogram) => write_histogram(histogram),
            Drawing::Bars(bars) => write_bars(bars),
            Drawing::Curves(curves) => write_curves(curves),
            Drawing::Scatter(scatter) => write_scatter(scatter),
        }
        .into_bytes())
    }
}

fn write_grid(grid: &Grid) -> String {
    let mut text = String::new();
    let row_names = ["cluster", "machine", "gpu_id", "device", "class", "gpus", "row"];
    let column_names: &[&str] = match grid.columns {
        Columns::Times(_) => &["start_time", "end_time"],
        Columns::Labels(_) => &["column"],
    };
    let cell_names: &[&str] = match grid.cells {
        Cells::Longest(_) | Cells::Parts(_) => &["category", "share"],
        Cells::Numbers { .. } => &["value"],
    };
    let names = row_names.iter().chain(column_names).chain(cell_names);
    write_line(&mut text, names.map(|name| (*name).to_owned()));

    let (columns, categories) = (grid.columns.len(), grid.categories.len());
    let column_cells: Vec<Vec<String>> =
        (0..columns).map(|column| column_of(grid, column)).collect();
    let name = |category: usize| match grid.categories.get(category) {
        Some(category) => category.name.clone(),
        None => String::new(),
    };
    for (row, about) in grid.rows.iter().enumerate() {
        let about = row_of(about);
        for (column, times) in column_cells.iter().enumerate() {
            let mut write = |cells: Vec<String>| {
                write_line(&mut text, about.iter().chain(times).cloned().chain(cells));
            };
            let place = row * columns + column;
            match &grid.cells {
                Cells::Longest(cells) => {
                    let cell = cells[place];
                    write(vec![name(cell.category.into()), cell.share.to_string()]);
                }
                Cells::Parts(parts) => {
                    let parts = &parts[place * categories..][..categories];
                    for (category, part) in
                        parts.iter().enumerate().filter(|(_, part)| **part > 0.0)
                    {
                        write(vec![name(category), part.to_string()]);
                    }
                }
                Cells::Numbers { values, .. } => write(vec![number(values[place])]),
            }
        }
    }
    text
}

fn row_of(row: &GridRow) -> Vec<String> {
    let texts = [&row.cluster, &row.machine, &row.gpu_id, &row.device, &row.class];
    let mut cells: Vec<String> = texts.map(|text| text.clone().unwrap_or_default()).into();
    cells.push(row.gpus.map(|gpus| gpus.to_string()).unwrap_or_default());
    cells.push(row.label.clone());
    cells
}

fn column_of(grid: &Grid, column: usize) -> Vec<String> {
    match &grid.columns {
        Columns::Times(edges) => vec![edges[column].to_string(), edges[column + 1].to_string()],
        Columns::Labels(labels) => vec![labels[column].clone()],
    }
}

fn write_series(series: &Series) -> String {
    let mut text = String::new();
    write_line(
        &mut text,
        ["start_time", "end_time", "name", "value", "is_partial"].map(str::to_owned),
    );
    for (bucket, edges) in series.edges.windows(2).enumerate() {
        let is_partial = series.partial.get(bucket).copied().unwrap_or(false).to_string();
        for amounts in series.stacked.iter().chain(&series.lines) {
            let value = number(amounts.values.get(bucket).copied().flatten());
            let (start, end) = (edges[0].to_string(), edges[1].to_string());
            let name = amounts.name.clone();
            write_line(&mut text, [start, end, name, value, is_partial.clone()]);
        }
    }
    text
}

fn write_histogram(histogram: &Histogram) -> String {
    let mut text = String::new();
    write_line(&mut text, ["range", "count"].map(str::to_owned));
    for bin in &histogram.bins {
        write_line(&mut text, [bin.label.clone(), number(Some(bin.count))]);
    }
    text
}

fn write_bars(bars: &Bars) -> String {
    let mut text = String::new();
    write_line(&mut text, ["label", "part", "value", "lower", "upper"].map(str::to_owned));
    for group in &bars.groups {
        for (part, amount) in bars.parts.iter().zip(&group.amounts) {
            let [lower, upper] = band(amount.band);
            let (label, part) = (group.label.clone(), part.name.clone());
            write_line(&mut text, [label, part, number(amount.value), lower, upper]);
        }
    }
    text
}

fn write_curves(curves: &Curves) -> String {
    let mut text = String::new();
    write_line(&mut text, ["curve", "at_seconds", "value", "lower", "upper"].map(str::to_owned));
    for curve in &curves.curves {
        for point in &curve.points {
            let [lower, upper] = band(point.band);
            let (at, value) = (number(Some(point.at_seconds)), number(Some(point.value)));
            write_line(&mut text, [curve.name.clone(), at, value, lower, upper]);
        }
    }
    text
}

fn band(band: Option<Band>) -> [String; 2] {
    [band.map(|band| band.lower), band.map(|band| band.upper)].map(number)
}

fn write_scatter(scatter: &Scatter) -> String {
    let mut text = String::new();
    let names = ["name".to_owned(), scatter.across.heading.clone(), scatter.up.heading.clone()];
    write_line(&mut text, names);
    for dot in &scatter.dots {
        write_line(&mut text, [dot.name.clone(), number(Some(dot.across)), number(Some(dot.up))]);
    }
    text
}

fn number(value: Option<f64>) -> String {
    value.map(|value| format!("{value:?}")).unwrap_or_default()
}
