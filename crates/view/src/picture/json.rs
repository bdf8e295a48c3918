//! A picture's numbers as one JSON object, a row a line.

use report::{
    Amount, Amounts, Axis, Bars, Cells, Columns, Curves, Dot, Drawing, Grid, GridRow, Group,
    Histogram, Layout, Picture, Point, Scatter, Series,
};
use serde_json::{Value, json};

use super::{PictureFormat, PictureLook, TooLarge};
use crate::format::{json_coverage, json_lines as lines, json_period};

pub(super) struct Json;

impl PictureFormat for Json {
    fn name(&self) -> &'static str {
        "json"
    }

    fn meaning(&self) -> &'static str {
        "Everything, raw values, unknown as null, a row of the picture an object"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["json"]
    }

    fn media_type(&self) -> &'static str {
        "application/json"
    }

    fn is_drawn(&self) -> bool {
        false
    }

    fn render(&self, picture: &Picture, _look: &PictureLook) -> Result<Vec<u8>, TooLarge> {
        let mut members = vec![
            ("picture", json!(picture.name).to_string()),
            ("title", json!(picture.title).to_string()),
            ("subtitle", json!(picture.subtitle).to_string()),
            ("period", json_period(&picture.period).to_string()),
            ("coverage", json_coverage(&picture.coverage).to_string()),
        ];
        match &picture.drawing {
            Drawing::Grid(grid) => members.extend(grid_members(grid)),
            Drawing::Series(series) => members.extend(series_members(series)),
            Drawing::Histogram(histogram) => members.extend(histogram_members(histogram)),
            Drawing::Bars(bars) => members.extend(bars_members(bars)),
            Drawing::Curves(curves) => members.extend(curves_members(curves)),
            Drawing::Scatter(scatter) => members.extend(scatter_members(scatter)),
        }
        members.push(("notes", lines(picture.notes.iter().map(|note| json!(note)))));
        let members: Vec<String> =
            members.iter().map(|(name, value)| format!("  \"{name}\": {value}")).collect();
        Ok(format!("{{\n{}\n}}\n", members.join(",\n")).into_bytes())
    }
}

fn grid_members(grid: &Grid) -> Vec<(&'static str, String)> {
    let columns = match &grid.columns {
        // A program gets the moments as they are; the last is where the last column ends.
        Columns::Times(edges) => {
            ("edges", json!(edges.iter().map(ToString::to_string).collect::<Vec<_>>()))
        }
        Columns::Labels(labels) => ("columns", json!(labels)),
    };
    let categories = grid
        .categories
        .iter()
        .map(|category| json!({ "name": category.name, "percent": category.percent }));
    vec![
        (columns.0, columns.1.to_string()),
        ("categories", lines(categories)),
        ("rows", lines(grid.rows.iter().enumerate().map(|(row, about)| object(grid, row, about)))),
    ]
}

/// Cells name their category by its place in the list.
fn object(grid: &Grid, row: usize, about: &GridRow) -> Value {
    let (columns, categories) = (grid.columns.len(), grid.categories.len());
    let mut object = json!({
        "row": about.label,
        "group": about.group,
        "cluster": about.cluster,
        "machine": about.machine,
        "gpu_id": about.gpu_id,
        "device": about.device,
        "class": about.class,
        "gpus": about.gpus,
    });
    let span = row * columns..(row + 1) * columns;
    match &grid.cells {
        Cells::Longest(cells) => {
            let cells = &cells[span];
            object["cells"] = cells.iter().map(|cell| json!(cell.category)).collect();
            object["shares"] = cells.iter().map(|cell| number(cell.share)).collect();
        }
        Cells::Parts(parts) => {
            let parts = &parts[span.start * categories..span.end * categories];
            let of_column = |cell: &[f32]| cell.iter().copied().map(number).collect::<Value>();
            object["parts"] = parts.chunks(categories.max(1)).map(of_column).collect();
        }
        Cells::Numbers { values, unit } => {
            object["values"] = json!(values[span]);
            object["unit"] = json!(unit.sign());
        }
    }
    object
}

/// The shortest decimal that reads back as the same number, not that of the nearest double.
fn number(share: f32) -> Value {
    share.to_string().parse::<f64>().map_or(Value::Null, |share| json!(share))
}

fn series_members(series: &Series) -> Vec<(&'static str, String)> {
    let amounts = |amounts: &Amounts| json!({ "name": amounts.name, "mean": amounts.mean, "values": amounts.values });
    let edges: Vec<String> = series.edges.iter().map(ToString::to_string).collect();
    vec![
        ("heading", json!(series.heading).to_string()),
        ("unit", json!(series.unit.sign()).to_string()),
        ("edges", json!(edges).to_string()),
        ("partial", json!(series.partial).to_string()),
        ("stacked", lines(series.stacked.iter().map(amounts))),
        ("lines", lines(series.lines.iter().map(amounts))),
    ]
}

fn scatter_members(scatter: &Scatter) -> Vec<(&'static str, String)> {
    let axis = |axis: &Axis| json!({ "heading": axis.heading, "unit": axis.unit.sign() });
    let dot = |dot: &Dot| json!({ "name": dot.name, "across": dot.across, "up": dot.up });
    vec![
        ("across", axis(&scatter.across).to_string()),
        ("up", axis(&scatter.up).to_string()),
        ("dots", lines(scatter.dots.iter().map(dot))),
    ]
}

fn histogram_members(histogram: &Histogram) -> Vec<(&'static str, String)> {
    let bin = |bin: &report::Bin| json!({ "range": bin.label, "count": bin.count });
    vec![
        ("heading", json!(histogram.heading).to_string()),
        ("count_heading", json!(histogram.count_heading).to_string()),
        ("unit", json!(histogram.count_unit.sign()).to_string()),
        ("bins", lines(histogram.bins.iter().map(bin))),
    ]
}

/// The values of a group are in the order of the parts.
fn bars_members(bars: &Bars) -> Vec<(&'static str, String)> {
    let bounds = |amount: &Amount| amount.band.map(|band| [band.lower, band.upper]);
    let group = |group: &Group| {
        json!({
            "label": group.label,
            "values": group.amounts.iter().map(|amount| amount.value).collect::<Vec<_>>(),
            "bands": group.amounts.iter().map(bounds).collect::<Vec<_>>(),
        })
    };
    let parts: Vec<&str> = bars.parts.iter().map(|part| part.name.as_str()).collect();
    vec![
        ("label_heading", json!(bars.label_heading).to_string()),
        ("heading", json!(bars.heading).to_string()),
        ("unit", json!(bars.unit.sign()).to_string()),
        ("is_stacked", json!(bars.layout == Layout::Stacked).to_string()),
        ("parts", json!(parts).to_string()),
        ("groups", lines(bars.groups.iter().map(group))),
    ]
}

fn curves_members(curves: &Curves) -> Vec<(&'static str, String)> {
    let bounds = |point: &Point| point.band.map(|band| [band.lower, band.upper]);
    let of_curve = curves.curves.iter().map(|curve| {
        let points = &curve.points;
        json!({
            "name": curve.name,
            "at_seconds": points.iter().map(|point| point.at_seconds).collect::<Vec<_>>(),
            "values": points.iter().map(|point| point.value).collect::<Vec<_>>(),
            "bands": points.iter().map(bounds).collect::<Vec<_>>(),
        })
    });
    vec![
        ("at_heading", json!(curves.at_heading).to_string()),
        ("heading", json!(curves.heading).to_string()),
        ("unit", json!(curves.unit.sign()).to_string()),
        ("curves", lines(of_curve)),
    ]
}
