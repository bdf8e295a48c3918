//! Bars beside the names of what they are of, below each other; and what bars of any kind share.

use report::{Amount, Band, Bars, Group, Kind, Layout, Picture, Value};

use super::frame::{self, Entry, Frame, Sign};
use super::letters::{cut, width};
use super::svg::{Anchor, Letters, Short, escaped};
use super::{Style, scale};

/// The height of a bar that is alone, and of one beside others of the same thing.
const LONE: f64 = 16.0;
const BESIDE: f64 = 11.0;
/// Between two things.
const GAP: f64 = 8.0;
/// Letters that are smaller than this are not read.
const LEAST_LETTERS: f64 = 5.5;
/// The most that names take of the width.
const NAMES: f64 = 0.3;

pub(super) fn draw(picture: &Picture, bars: &Bars, style: &Style<'_>) -> String {
    let lanes = lanes(bars);
    let thickness = if lanes == 1 { LONE } else { BESIDE };
    let wanted = (lanes as f64 * thickness + GAP) * bars.groups.len().max(2) as f64;
    let names: Vec<String> = bars
        .groups
        .iter()
        .map(|group| cut(&group.label, frame::AXIS, false, style.width * NAMES))
        .collect();
    let room = frame::axis_room(names.iter().map(String::as_str));
    let mut frame = frame::frame(picture, &entries(bars, style), "", room, wanted, style);
    let plot = frame.plot;
    if bars.groups.is_empty() {
        frame::nothing(&mut frame, style);
        return frame.svg.finish(&picture.title);
    }

    let marks = scale::marks(bars.unit, bars.longest(), 6);
    let end = marks.last().map_or(1.0, |(end, _)| *end);
    let x = |amount: f64| plot.left + plot.width * amount / end;
    for (mark, words) in &marks {
        let top = (x(*mark), plot.top);
        frame.svg.line(top, (x(*mark), plot.top + plot.height), style.theme.line, 0.5);
        frame::mark(&mut frame, x(*mark), words, "", style);
    }
    frame::bottom_heading(&mut frame, &bars.heading, style);

    let pitch = plot.height / bars.groups.len() as f64;
    let gap = (pitch * 0.5).min(GAP);
    let lane_height = (pitch - gap) / lanes as f64;
    let mut free_from = f64::NEG_INFINITY;
    for (index, (group, name)) in bars.groups.iter().zip(&names).enumerate() {
        let top = plot.top + index as f64 * pitch + gap / 2.0;
        let middle = top + (pitch - gap) / 2.0;
        if middle >= free_from {
            let letters = letters(style.theme.ink, Anchor::End);
            frame.svg.text(plot.left - 6.0, middle + frame::AXIS * 0.36, letters, name);
            free_from = middle + frame::AXIS;
        }
        for piece in pieces(bars, group) {
            let top = top + piece.lane as f64 * lane_height;
            let Some((from, to)) = piece.reach else {
                let letters = Letters { size: 8.5, ..letters(style.theme.faint, Anchor::Start) };
                frame.svg.text(
                    plot.left + 4.0,
                    top + lane_height / 2.0 + 3.0,
                    letters,
                    "not known",
                );
                continue;
            };
            let place = [x(from), top, x(to) - x(from), lane_height];
            draw_piece(&mut frame, picture, bars, group, &piece, place, style);
            let middle = top + lane_height / 2.0;
            if let Some(Band { lower, upper }) = piece.amount.band {
                draw_band(&mut frame, (x(lower), middle), (x(upper), middle), style);
            }
            let reaches = piece.amount.band.map_or(to, |band| band.upper.max(to));
            let is_alone = lanes > 1 || bars.parts.len() == 1;
            draw_value(
                &mut frame,
                picture,
                bars,
                &piece,
                place,
                is_alone.then_some(x(reaches)),
                style,
            );
        }
    }
    frame.svg.finish(&picture.title)
}

fn letters(color: crate::theme::Color, anchor: Anchor) -> Letters {
    Letters { size: frame::AXIS, bold: false, color, anchor }
}

/// The amount beyond the end of a bar that is alone, or within a part of one that is not, where
/// there is room.
fn draw_value(
    frame: &mut Frame,
    picture: &Picture,
    bars: &Bars,
    piece: &Piece<'_>,
    [left, top, length, height]: [f64; 4],
    end: Option<f64>,
    style: &Style<'_>,
) {
    let size = (height - 2.0).min(9.0);
    if size < LEAST_LETTERS {
        return;
    }
    let words = words(picture, bars, piece.amount);
    let needed = width(&words, size, false) + 6.0;
    let fill = style.theme.fill(bars.parts[piece.part].kind);
    let y = top + height / 2.0 + size * 0.36;
    let (x, anchor, color) = match end {
        Some(end) if end + needed < style.width - 4.0 => {
            (end + 5.0, Anchor::Start, style.theme.faint)
        }
        _ if length >= needed => {
            (left + length / 2.0, Anchor::Middle, style.theme.ink_on(fill.color))
        }
        _ => return,
    };
    frame.svg.text(x, y, Letters { size, bold: false, color, anchor }, &words);
}

/// How many bars a thing has.
pub(super) fn lanes(bars: &Bars) -> usize {
    match bars.layout {
        Layout::Stacked => 1,
        Layout::Beside => bars.parts.len().max(1),
    }
}

/// A part of a thing, as it is drawn.
pub(super) struct Piece<'a> {
    /// Its place among the parts.
    pub(super) part: usize,
    /// Which of the thing's bars it is in.
    pub(super) lane: usize,
    /// Where it begins and ends; nowhere if it is unknown, or a part of the same stack is.
    pub(super) reach: Option<(f64, f64)>,
    pub(super) amount: &'a Amount,
}

/// The parts of a thing; one only of a stack that cannot be drawn.
pub(super) fn pieces<'a>(bars: &Bars, group: &'a Group) -> Vec<Piece<'a>> {
    let amounts = group.amounts.iter().enumerate();
    match bars.layout {
        Layout::Beside => amounts
            .map(|(part, amount)| {
                let reach = amount.value.map(|value| (0.0, value));
                Piece { part, lane: part, reach, amount }
            })
            .collect(),
        Layout::Stacked if group.total().is_none() => amounts
            .take(1)
            .map(|(part, amount)| Piece { part, lane: 0, reach: None, amount })
            .collect(),
        Layout::Stacked => {
            let mut from = 0.0;
            amounts
                .map(|(part, amount)| {
                    let to = from + amount.value.unwrap_or(0.0);
                    let reach = Some((from, to));
                    from = to;
                    Piece { part, lane: 0, reach, amount }
                })
                .collect()
        }
    }
}

/// Draws a part of a bar at its left, top, width and height; it says what it is when pointed at.
pub(super) fn draw_piece(
    frame: &mut Frame,
    picture: &Picture,
    bars: &Bars,
    group: &Group,
    piece: &Piece<'_>,
    place: [f64; 4],
    style: &Style<'_>,
) {
    let part = &bars.parts[piece.part];
    let paint = frame.svg.paint(style.theme.fill(part.kind), true);
    let title = match style.has_tooltips {
        true => {
            let (label, words) = (escaped(&group.label), words(picture, bars, piece.amount));
            match bars.parts.len() {
                1 => format!("<title>{label}: {words}</title>"),
                _ => format!("<title>{label}\n{}: {words}</title>", escaped(&part.name)),
            }
        }
        false => String::new(),
    };
    let [x, y, width, height] = place.map(Short);
    frame.svg.raw(format_args!(
        "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" \
         fill=\"{paint}\">{title}</rect>\n"
    ));
}

/// Draws from where to where an estimate lies with some confidence: a line with two ends across.
pub(super) fn draw_band(frame: &mut Frame, from: (f64, f64), to: (f64, f64), style: &Style<'_>) {
    const ACROSS: f64 = 3.5;
    let color = style.theme.ink;
    let is_level = from.1 == to.1;
    let (x, y) = if is_level { (0.0, ACROSS) } else { (ACROSS, 0.0) };
    frame.svg.line(from, to, color, 1.2);
    for end in [from, to] {
        frame.svg.line((end.0 - x, end.1 - y), (end.0 + x, end.1 + y), color, 1.2);
    }
}

/// An amount as people read it.
pub(crate) fn words(picture: &Picture, bars: &Bars, amount: &Amount) -> String {
    let zone = &picture.period.zone;
    let show = |number: f64| bars.unit.show(&Value::Number(number), zone);
    match (amount.value, amount.band) {
        (None, _) => "not known".to_owned(),
        (Some(value), None) => show(value),
        (Some(value), Some(Band { lower, upper })) => {
            format!("{} ({} to {})", show(value), show(lower), show(upper))
        }
    }
}

/// The legend; bars of one kind without bands need none.
pub(super) fn entries(bars: &Bars, style: &Style<'_>) -> Vec<Entry> {
    let amounts = || bars.groups.iter().flat_map(|group| &group.amounts);
    if bars.parts.len() == 1 && amounts().all(|amount| amount.band.is_none()) {
        return Vec::new();
    }
    let area = |name: &str, kind: Kind| Entry {
        sign: Sign::Area(style.theme.fill(kind)),
        name: name.to_owned(),
        value: String::new(),
    };
    bars.parts.iter().map(|part| area(&part.name, part.kind)).collect()
}
