//! Bars of steps on a way, such as hours or days, from left to right.

use report::{Bars, Kind, Picture};

use super::bars::{draw_band, draw_piece, entries, lanes, pieces, words};
use super::frame::{self, Entry, Sign};
use super::letters::width;
use super::svg::{Anchor, Letters};
use super::{Style, scale};

/// Where something is not known there is a hatched gap.
pub(super) fn draw(picture: &Picture, bars: &Bars, style: &Style<'_>) -> String {
    let marks = scale::marks(bars.unit, bars.longest(), 5);
    let end = marks.last().map_or(1.0, |(end, _)| *end);
    let room = frame::axis_room(marks.iter().map(|(_, words)| words.as_str()));
    let mut entries = entries(bars, style);
    let is_unknown = |group| pieces(bars, group).iter().any(|piece| piece.reach.is_none());
    if bars.groups.iter().any(is_unknown) {
        entries.push(Entry {
            sign: Sign::Area(style.theme.fill(Kind::Unmeasured)),
            name: "not known".to_owned(),
            value: String::new(),
        });
    }
    let mut frame = frame::frame(picture, &entries, &bars.heading, room, 300.0, style);
    let plot = frame.plot;
    let y = |amount: f64| plot.top + plot.height * (1.0 - amount / end);
    frame::amount_axis(&mut frame, &marks, y, style);
    frame::bottom_heading(&mut frame, &bars.label_heading, style);
    if bars.groups.is_empty() {
        frame::nothing(&mut frame, style);
    }

    let step = plot.width / bars.groups.len().max(1) as f64;
    let lanes = lanes(bars);
    let bar_width = step * 0.84 / lanes as f64;
    let mut free_from = f64::NEG_INFINITY;
    for (index, group) in bars.groups.iter().enumerate() {
        let left = plot.left + index as f64 * step;
        for piece in pieces(bars, group) {
            let bar_left = left + step * 0.08 + piece.lane as f64 * bar_width;
            let Some((from, to)) = piece.reach else {
                let paint = frame.svg.paint(style.theme.fill(Kind::Unmeasured), true);
                frame.svg.rect(bar_left, plot.top, bar_width, plot.height, &paint);
                continue;
            };
            let place = [bar_left, y(to), bar_width, y(from) - y(to)];
            draw_piece(&mut frame, picture, bars, group, &piece, place, style);
            let middle = bar_left + bar_width / 2.0;
            if let Some(band) = piece.amount.band {
                draw_band(&mut frame, (middle, y(band.lower)), (middle, y(band.upper)), style);
            }
            let words = words(picture, bars, piece.amount);
            let has_room = width(&words, frame::AXIS, false) <= step;
            if bars.parts.len() == 1 && has_room && to > 0.0 {
                let letters = Letters {
                    size: frame::AXIS,
                    bold: false,
                    color: style.theme.faint,
                    anchor: Anchor::Middle,
                };
                frame.svg.text(middle, y(to) - 3.0, letters, &words);
            }
        }
        let (middle, half) = (left + step / 2.0, width(&group.label, frame::AXIS, false) / 2.0);
        if middle - half > free_from {
            frame::mark(&mut frame, middle, &group.label, "", style);
            free_from = middle + half + 4.0;
        }
    }
    frame.svg.finish(&picture.title)
}
