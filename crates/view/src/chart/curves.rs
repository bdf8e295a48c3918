//! Step curves over the time since the start, with their confidence bands.

use std::fmt::Write;

use report::{Curve, Curves, Picture, Point, Value};

use super::frame::{self, Entry, Frame, Sign};
use super::letters::width;
use super::line::dashes;
use super::svg::{Short, escaped};
use super::{Style, scale};
use crate::theme::Color;

/// Draws the curves over a logarithmic axis: the first hour matters as much as the last day.
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
    let across = |seconds: f64| plot.left + plot.width * log_part(first, last, seconds);
    let up = |value: f64| plot.top + plot.height * (1.0 - value / end);

    frame::amount_axis(&mut frame, &marks, up, style);
    let mut free_from = f64::NEG_INFINITY;
    for seconds in log_times(first, last) {
        let x = across(seconds);
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
        draw_band(&mut frame, &steps(curve, across), up, style.theme.fill(curve.kind).color);
    }
    for (index, curve) in curves.curves.iter().enumerate() {
        let color = style.theme.fill(curve.kind).color;
        let values =
            steps(curve, across).into_iter().map(|step| (step.from, step.to, step.point.value));
        let mut shape = String::new();
        write_steps(&mut shape, 'M', values, up);
        frame.svg.raw(format_args!(
            "<path class=\"curve\" d=\"{shape}\" stroke=\"{color}\" stroke-width=\"2\" \
             stroke-dasharray=\"{}\" fill=\"none\"/>\n",
            dashes(index)
        ));
        for seconds in log_times(first, last) {
            let Some(point) = curve.point_at(seconds) else { continue };
            let title = match style.has_tooltips {
                true => {
                    let words = words(picture, curves, curve, seconds, point);
                    format!("<title>{}</title>", escaped(&words))
                }
                false => String::new(),
            };
            frame.svg.raw(format_args!(
                "<circle cx=\"{}\" cy=\"{}\" r=\"2.6\" fill=\"{color}\">{title}</circle>\n",
                Short(across(seconds)),
                Short(up(point.value))
            ));
        }
    }
    frame.svg.finish(&picture.title)
}

/// A point, and from where to where it holds.
struct PlottedStep {
    from: f64,
    to: f64,
    point: Point,
}

/// The steps of a curve. Of those that begin within half a unit only the last is seen.
fn steps(curve: &Curve, across: impl Fn(f64) -> f64) -> Vec<PlottedStep> {
    let column = |point: &Point| (2.0 * across(point.at_seconds)).floor() as i64;
    let seen: Vec<Point> = curve
        .points
        .chunk_by(|one, other| column(one) == column(other))
        .filter_map(|same| same.last().copied())
        .collect();
    let end = |place: usize| seen.get(place + 1).unwrap_or(&seen[place]).at_seconds;
    let step = |(place, point): (usize, &Point)| PlottedStep {
        from: across(point.at_seconds),
        to: across(end(place)),
        point: *point,
    };
    seen.iter().enumerate().map(step).collect()
}

/// Adds horizontal lines to a path, each from where to where and at which value, and the vertical ones between
/// them. `first` leads to the first of them.
fn write_steps(
    shape: &mut String,
    first: char,
    steps: impl Iterator<Item = (f64, f64, f64)>,
    up: impl Fn(f64) -> f64,
) {
    for (place, (from, to, value)) in steps.enumerate() {
        let y = Short(up(value));
        let _ = match place {
            0 => write!(shape, "{first}{} {y}H{}", Short(from), Short(to)),
            _ => write!(shape, "V{y}H{}", Short(to)),
        };
    }
}

/// Draws the area between the ends of the confidence band. Where there is none, there is a gap.
fn draw_band(
    frame: &mut Frame,
    steps: &[PlottedStep],
    up: impl Fn(f64) -> f64 + Copy,
    color: Color,
) {
    for piece in steps.split(|step| step.point.band.is_none()).filter(|piece| !piece.is_empty()) {
        let uppers =
            piece.iter().filter_map(|step| Some((step.from, step.to, step.point.band?.upper)));
        let lowers = piece
            .iter()
            .rev()
            .filter_map(|step| Some((step.to, step.from, step.point.band?.lower)));
        let mut shape = String::new();
        write_steps(&mut shape, 'M', uppers, up);
        write_steps(&mut shape, 'L', lowers, up);
        frame.svg.raw(format_args!(
            "<path class=\"band\" d=\"{shape}z\" fill=\"{color}\" fill-opacity=\"0.15\"/>\n"
        ));
    }
}

fn words(picture: &Picture, curves: &Curves, curve: &Curve, seconds: f64, point: &Point) -> String {
    let show = |number: f64| curves.unit.show(&Value::Number(number), &picture.period.zone);
    let band = match point.band {
        Some(band) => format!(" ({} to {})", show(band.lower), show(band.upper)),
        None => String::new(),
    };
    let after = scale::duration_words(seconds);
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

/// How far along a logarithmic axis a time lies, from 0 to 1. Times before the axis are at its beginning.
pub(crate) fn log_part(first: f64, last: f64, seconds: f64) -> f64 {
    let seconds = seconds.max(first);
    if last > first { (seconds / first).ln() / (last / first).ln() } else { 0.5 }
}

/// The time at a part of a logarithmic axis.
pub(crate) fn log_time(first: f64, last: f64, part: f64) -> f64 {
    first * (last / first).powf(part)
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
