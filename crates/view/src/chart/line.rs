//! Amounts over time: areas on each other, and lines, such as the capacity above them.

use std::fmt::Write;

use report::{Amounts, Kind, Picture, Series, Unit, Value};

use super::frame::{self, Entry, Frame, Sign};
use super::svg::{Short, escaped};
use super::{Style, scale};
use crate::theme::{Color, Fill, Hatch};

/// An amount holds for its whole bucket, so areas and lines go in steps. Where something is not
/// known there is a hatched gap, and no area: a stack without one of its parts would be a wrong
/// sum.
pub(super) fn draw(picture: &Picture, series: &Series, style: &Style<'_>) -> String {
    let buckets = series.edges.len().saturating_sub(1);
    let stack: Vec<Option<f64>> = (0..buckets).map(|bucket| sum(&series.stacked, bucket)).collect();
    let lines = series.lines.iter().flat_map(|line| line.values.iter().flatten());
    let highest = stack.iter().flatten().chain(lines).copied().fold(0.0, f64::max);
    let marks = scale::marks(series.unit, highest, 5);
    let end = marks.last().map_or(1.0, |(end, _)| *end);
    let room = frame::axis_room(marks.iter().map(|(_, words)| words.as_str()));
    let is_partial = |bucket: usize| series.partial.get(bucket).copied().unwrap_or(false);
    let has_partial = (0..buckets).any(|bucket| is_partial(bucket) && stack[bucket].is_some());
    let has_gaps = stack.iter().any(Option::is_none);
    let entries = legend(picture, series, has_gaps, has_partial, style);
    let mut frame = frame::frame(picture, &entries, &axis_words(series), room, 320.0, style);
    let plot = frame.plot;
    let x = |bucket: usize| {
        let (start, end) = (series.edges[0], series.edges[buckets]);
        frame::time_x(&plot, start, end, series.edges[bucket])
    };
    let y = |amount: f64| plot.top + plot.height * (1.0 - amount / end);

    frame::amount_axis(&mut frame, &marks, y, style);
    draw_gaps(&mut frame, series, &stack, &x, style);
    let mut below = vec![0.0; buckets];
    for amounts in &series.stacked {
        let (mut whole, mut part) = (Band::default(), Band::default());
        for bucket in (0..buckets).filter(|bucket| stack[*bucket].is_some()) {
            let band = if is_partial(bucket) { &mut part } else { &mut whole };
            let amount = amounts.values.get(bucket).copied().flatten().unwrap_or(0.0);
            let (bottom, top) = (y(below[bucket]), y(below[bucket] + amount));
            below[bucket] += amount;
            if bottom - top > 0.0 {
                band.push(x(bucket), x(bucket + 1), top, bottom);
            }
        }
        let (whole, part) = (whole.shape(), part.shape());
        let fill = style.theme.fill(amounts.kind);
        for (shape, fill) in [(whole, fill), (part, hatched(fill.color, style))] {
            if !shape.is_empty() {
                let paint = frame.svg.paint(fill, true);
                draw_shape(&mut frame, &shape, amounts, &format!("fill=\"{paint}\""), style);
            }
        }
    }
    for (index, amounts) in series.lines.iter().enumerate() {
        let mut shape = String::new();
        let mut start = 0;
        let values: Vec<Option<f64>> =
            (0..buckets).map(|bucket| amounts.values.get(bucket).copied().flatten()).collect();
        // A stretch of one amount is one line.
        for alike in values.chunk_by(|one, other| one == other) {
            let (first, end) = (start, start + alike.len());
            start = end;
            let Some(amount) = alike[0] else { continue };
            let (left, right, y) = (Short(x(first)), Short(x(end)), Short(y(amount)));
            let _ = match first.checked_sub(1).and_then(|before| values[before]) {
                Some(_) => write!(shape, "V{y}H{right}"),
                None => write!(shape, "M{left} {y}H{right}"),
            };
        }
        if amounts.kind == Kind::Granted {
            // It crosses areas of every colour.
            let how =
                format!("stroke=\"{}\" stroke-width=\"4.5\" fill=\"none\"", style.theme.paper);
            draw_shape(&mut frame, &shape, amounts, &how, style);
        }
        let color = style.theme.fill(amounts.kind).color;
        let how = format!(
            "stroke=\"{color}\" stroke-width=\"1.8\" stroke-dasharray=\"{}\" fill=\"none\"",
            dashes(index)
        );
        draw_shape(&mut frame, &shape, amounts, &how, style);
    }
    frame::time_axis(&mut frame, picture, &series.edges, true, style);
    frame.svg.finish(&picture.title)
}

/// One area of a stack. Neighbouring buckets share one outline: an outline for each would more than
/// double the weight of a page.
#[derive(Default)]
struct Band {
    /// Closed outlines of earlier stretches.
    closed: String,
    /// The upper edge of the open stretch from left to right: how high each step is, and where it ends.
    upper: Vec<(String, String)>,
    /// The lower edge of the open stretch from left to right: where each step begins, and how deep it is.
    lower: Vec<(String, String)>,
}

impl Band {
    fn push(&mut self, left: f64, right: f64, top: f64, bottom: f64) {
        let [left, right, top, bottom] =
            [left, right, top, bottom].map(|number| Short(number).to_string());
        if self.upper.last().is_some_and(|(_, end)| *end != left) {
            self.close();
        }
        match self.upper.last_mut() {
            Some((height, end)) if *height == top => *end = right,
            _ => self.upper.push((top, right)),
        }
        if self.lower.last().is_none_or(|(_, depth)| *depth != bottom) {
            self.lower.push((left, bottom));
        }
    }

    fn close(&mut self) {
        let (upper, lower) = (std::mem::take(&mut self.upper), std::mem::take(&mut self.lower));
        let (Some((start, _)), Some((top, _))) = (lower.first(), upper.first()) else { return };
        self.closed += &format!("M{start} {top}");
        for (index, (top, right)) in upper.iter().enumerate() {
            if index > 0 {
                self.closed += &format!("V{top}");
            }
            self.closed += &format!("H{right}");
        }
        for (left, bottom) in lower.iter().rev() {
            self.closed += &format!("V{bottom}H{left}");
        }
        self.closed.push('z');
    }

    fn shape(mut self) -> String {
        self.close();
        self.closed
    }
}

/// How the sums of partial buckets are drawn, which are compared with no other.
fn hatched(color: Color, style: &Style<'_>) -> Fill {
    Fill { color, hatch: Some(Hatch::Rising(style.theme.paper)) }
}

fn draw_shape(frame: &mut Frame, shape: &str, amounts: &Amounts, how: &str, style: &Style<'_>) {
    if shape.is_empty() {
        return;
    }
    let title = match style.has_tooltips {
        true => format!("<title>{}</title>", escaped(&amounts.name)),
        false => String::new(),
    };
    frame.svg.raw(format_args!(
        "<path shape-rendering=\"crispEdges\" d=\"{shape}\" {how}>{title}</path>\n"
    ));
}

fn draw_gaps(
    frame: &mut Frame,
    series: &Series,
    stack: &[Option<f64>],
    x: &impl Fn(usize) -> f64,
    style: &Style<'_>,
) {
    if series.stacked.is_empty() {
        return; // a line that stops is gap enough
    }
    let paint = frame.svg.paint(style.theme.fill(Kind::Unmeasured), true);
    let mut start = 0;
    for alike in stack.chunk_by(|one, other| one.is_none() == other.is_none()) {
        let end = start + alike.len();
        if alike[0].is_none() {
            let (left, right, plot) = (x(start), x(end), frame.plot);
            frame.svg.rect(left, plot.top, right - left, plot.height, &paint);
        }
        start = end;
    }
}

/// The height of the stack: where it ends on the axis. Unknown if one of its parts is.
fn sum(stacked: &[Amounts], bucket: usize) -> Option<f64> {
    stacked.iter().map(|amounts| amounts.values.get(bucket).copied().flatten()).sum()
}

/// What tells lines apart where colours do not.
pub(super) fn dashes(index: usize) -> &'static str {
    ["none", "6 3", "2 3", "8 3 2 3"][index % 4]
}

fn axis_words(series: &Series) -> String {
    match series.unit.sign() {
        "" => series.heading.clone(),
        sign => format!("{} ({sign})", series.heading),
    }
}

fn legend(
    picture: &Picture,
    series: &Series,
    has_gaps: bool,
    has_partial: bool,
    style: &Style<'_>,
) -> Vec<Entry> {
    let value = |amounts: &Amounts| match amounts.mean {
        Some(mean) => {
            let shown = series.unit.show(&Value::Number(mean), &picture.period.zone);
            let sign = if series.unit == Unit::Percent { " %" } else { "" };
            format!("(mean {shown}{sign})")
        }
        None => String::new(),
    };
    let stacked = series.stacked.iter().rev().map(|amounts| Entry {
        sign: Sign::Area(style.theme.fill(amounts.kind)),
        name: amounts.name.clone(),
        value: value(amounts),
    });
    let lines = series.lines.iter().enumerate().map(|(index, amounts)| Entry {
        sign: Sign::Line { color: style.theme.fill(amounts.kind).color, dashes: dashes(index) },
        name: amounts.name.clone(),
        value: value(amounts),
    });
    let mut entries: Vec<Entry> = stacked.chain(lines).collect();
    if let Some(first) = series.stacked.first().filter(|_| has_partial) {
        entries.push(Entry {
            sign: Sign::Area(hatched(style.theme.fill(first.kind).color, style)),
            name: "partial, not in the mean".to_owned(),
            value: String::new(),
        });
    }
    if has_gaps && !series.stacked.is_empty() {
        entries.push(Entry {
            sign: Sign::Area(style.theme.fill(Kind::Unmeasured)),
            name: "not observed".to_owned(),
            value: String::new(),
        });
    }
    entries
}
