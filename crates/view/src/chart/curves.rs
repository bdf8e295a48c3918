//! How something goes on with the time since it began: lines with their confidence bands.

use std::fmt::Write;

use report::{Curve, Curves, Picture, Point, Value};

use super::frame::{self, Entry, Frame, Sign};
use super::letters::width;
use super::line::dashes;
use super::svg::{Short, escaped};
use super::{Style, scale};

/// The axis of time is logarithmic: the first hour matters as much as the last day. Points are known,
/// lines only lead from one to the next: a step would say that everything happens at the points.
pub(super) fn draw(picture: &Picture, curves: &Curves, style: &Style<'_>) -> String {
    let highest = curves.curves.iter().flat_map(|curve| &curve.points).map(|point| point.value);
    let marks = scale::marks(curves.unit, highest.fold(0.0, f64::max), 5);
    let end = marks.last().map_or(1.0, |(end, _)| *end);
    let room = frame::axis_room(marks.iter().map(|(_, words)| words.as_str()));
    let entries = legend(curves, style);
    let mut frame = frame::frame(picture, &entries, &curves.heading, room, 320.0, style);
    let plot = frame.plot;
    let Some((first, last)) = curves.span() else {
        frame::nothing(&mut frame, style);
        return frame.svg.finish(&picture.title);
    };
    let place = |point: &Point, value: f64| {
        let x = plot.left + plot.width * log_part(first, last, point.at_seconds);
        (x, plot.top + plot.height * (1.0 - value / end))
    };

    frame::amount_axis(&mut frame, &marks, |y| plot.top + plot.height * (1.0 - y / end), style);
    let mut free_from = f64::NEG_INFINITY;
    for seconds in log_times(first, last) {
        let x = plot.left + plot.width * log_part(first, last, seconds);
        let words = scale::duration_words(seconds);
        let half = width(&words, frame::AXIS, false) / 2.0;
        if x - half > free_from {
            frame.svg.line((x, plot.top), (x, plot.top + plot.height), style.theme.line, 0.5);
            frame::mark(&mut frame, x, &words, "", style);
            free_from = x + half + 6.0;
        }
    }
    frame::bottom_heading(&mut frame, &curves.at_heading, style);

    for curve in &curves.curves {
        draw_bands(&mut frame, curve, &place, style);
    }
    for (index, curve) in curves.curves.iter().enumerate() {
        let color = style.theme.fill(curve.kind).color;
        let mut shape = String::new();
        for point in &curve.points {
            let (x, y) = place(point, point.value);
            let letter = if shape.is_empty() { 'M' } else { 'L' };
            let _ = write!(shape, "{letter}{} {}", Short(x), Short(y));
        }
        frame.svg.raw(format_args!(
            "<path class=\"curve\" d=\"{shape}\" stroke=\"{color}\" stroke-width=\"2\" \
             stroke-dasharray=\"{}\" fill=\"none\"/>\n",
            dashes(index)
        ));
        for point in &curve.points {
            let (x, y) = place(point, point.value);
            let title = match style.has_tooltips {
                true => {
                    format!("<title>{}</title>", escaped(&words(picture, curves, curve, point)))
                }
                false => String::new(),
            };
            frame.svg.raw(format_args!(
                "<circle cx=\"{}\" cy=\"{}\" r=\"2.6\" fill=\"{color}\">{title}</circle>\n",
                Short(x),
                Short(y)
            ));
        }
    }
    frame.svg.finish(&picture.title)
}

/// Draws the areas between the ends of the bands; where there is none, there is a gap.
fn draw_bands(
    frame: &mut Frame,
    curve: &Curve,
    place: &impl Fn(&Point, f64) -> (f64, f64),
    style: &Style<'_>,
) {
    let color = style.theme.fill(curve.kind).color;
    let pieces = curve.points.split(|point| point.band.is_none());
    for piece in pieces.filter(|piece| piece.len() > 1) {
        let uppers = piece.iter().filter_map(|point| Some(place(point, point.band?.upper)));
        let lowers = piece.iter().rev().filter_map(|point| Some(place(point, point.band?.lower)));
        let mut shape = String::new();
        for (x, y) in uppers.chain(lowers) {
            let letter = if shape.is_empty() { 'M' } else { 'L' };
            let _ = write!(shape, "{letter}{} {}", Short(x), Short(y));
        }
        frame.svg.raw(format_args!(
            "<path class=\"band\" d=\"{shape}z\" fill=\"{color}\" fill-opacity=\"0.15\"/>\n"
        ));
    }
}

fn words(picture: &Picture, curves: &Curves, curve: &Curve, point: &Point) -> String {
    let show = |number: f64| curves.unit.show(&Value::Number(number), &picture.period.zone);
    let band = match point.band {
        Some(band) => format!(" ({} to {})", show(band.lower), show(band.upper)),
        None => String::new(),
    };
    let after = scale::duration_words(point.at_seconds);
    format!("{}, {after}: {}{band}", curve.name, show(point.value))
}

fn legend(curves: &Curves, style: &Style<'_>) -> Vec<Entry> {
    let entry = |(index, curve): (usize, &Curve)| Entry {
        sign: Sign::Line { color: style.theme.fill(curve.kind).color, dashes: dashes(index) },
        name: curve.name.clone(),
        value: String::new(),
    };
    curves.curves.iter().enumerate().map(entry).collect()
}

/// How far along a logarithmic axis a time lies, from 0 to 1.
pub(crate) fn log_part(first: f64, last: f64, seconds: f64) -> f64 {
    if last > first { (seconds / first).ln() / (last / first).ln() } else { 0.5 }
}

/// The times that such an axis marks.
pub(crate) fn log_times(first: f64, last: f64) -> impl Iterator<Item = f64> {
    const MINUTES: [u32; 18] = [
        1, 2, 5, 15, 30, 60, 120, 240, 480, 720, 1440, 2880, 4320, 7200, 10_080, 20_160, 40_320,
        80_640,
    ];
    let times = MINUTES.into_iter().map(|minutes| f64::from(minutes) * 60.0);
    times.filter(move |seconds| (first..=last).contains(seconds))
}
