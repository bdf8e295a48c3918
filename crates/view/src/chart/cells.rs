//! Cells of a large grid as pixels, one a cell: as shapes, those of 300 GPUs in a month would weigh
//! ten times as much as the page around them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use report::{Cell, Grid};

use super::frame::Frame;
use super::svg::Short;
use crate::theme::{Color, NIGHT, Theme};

/// Draws them once for a page on paper and once for one in the dark, of which the page's style shows
/// one. Columns must have a common width but for the first and the last, which may be cut; whether
/// they have.
pub(super) fn draw(
    frame: &mut Frame,
    grid: &Grid,
    cells: &[Cell],
    edges: &[f64],
    row_height: f64,
    theme: &Theme,
) -> bool {
    let Some(width) = common_width(edges) else { return false };
    let plot = frame.plot;
    let height = row_height * grid.rows.len() as f64;
    // The whole of the first column may begin before the plot, and the last one may end behind it.
    let left = edges[1] - width - edges[0];
    frame.svg.raw(format_args!(
        "<svg x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" overflow=\"hidden\">\n",
        Short(plot.left),
        Short(plot.top),
        Short(plot.width),
        Short(height)
    ));
    for (class, theme) in [("day", theme), ("night", NIGHT)] {
        let colors: Vec<Color> =
            grid.categories.iter().map(|category| theme.fill(category.kind).color).collect();
        let colors_said: Vec<String> = colors.iter().map(Color::to_string).collect();
        frame.svg.raw(format_args!(
            "<image class=\"cells {class}\" x=\"{}\" width=\"{}\" height=\"{}\" \
             preserveAspectRatio=\"none\" data-colors=\"{}\" href=\"data:image/png;base64,{}\"/>\n",
            Short(left),
            Short(width * grid.columns.len() as f64),
            Short(height),
            colors_said.join(" "),
            STANDARD.encode(png(grid, cells, &colors)),
        ));
    }
    frame.svg.raw(format_args!("</svg>\n"));
    true
}

/// The width that all columns have but the first and the last.
fn common_width(edges: &[f64]) -> Option<f64> {
    let inner = edges.get(1..edges.len().saturating_sub(1))?;
    let width = (inner.last()? - inner.first()?) / (inner.len() - 1) as f64;
    let is_near = |pair: &[f64]| (pair[1] - pair[0] - width).abs() < width / 100.0;
    (inner.len() > 2 && inner.windows(2).all(is_near)).then_some(width)
}

/// A pixel a cell, in the colours of the categories; one of none of them is not painted.
fn png(grid: &Grid, cells: &[Cell], colors: &[Color]) -> Vec<u8> {
    let none = colors.len().min(usize::from(u8::MAX));
    let mut palette: Vec<u8> =
        colors[..none].iter().flat_map(|Color(red, green, blue)| [*red, *green, *blue]).collect();
    palette.extend([0; 3]);
    let mut opacity = vec![u8::MAX; none];
    opacity.push(0);
    let pixels: Vec<u8> =
        cells.iter().map(|cell| usize::from(cell.category).min(none) as u8).collect();
    let mut bytes = Vec::new();
    let (width, height) = (grid.columns.len() as u32, grid.rows.len() as u32);
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Indexed);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_palette(palette);
    encoder.set_trns(opacity);
    encoder.set_compression(png::Compression::High);
    encoder.set_filter(png::Filter::NoFilter);
    encoder
        .write_header()
        .and_then(|mut writer| writer.write_image_data(&pixels))
        .expect("a vector takes all bytes, and a grid has a cell for each row and column");
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_ends_of_a_period_may_cut_columns() {
        assert_eq!(common_width(&[0.5, 1.0, 2.0, 3.0, 3.2]), Some(1.0));
        assert_eq!(common_width(&[0.0, 1.0, 2.0, 3.5, 4.5]), None);
        assert_eq!(common_width(&[0.0, 1.0]), None);
        assert_eq!(common_width(&[]), None);
    }
}
