//! Bars on a terminal: a line for each, or for each part where these stand beside each other.

use report::{Amount, Bars, Group, Kind, Layout, Picture};

use super::{columns, ink, padded, sign, widest};
use crate::chart::bar_words;
use crate::picture::{PictureLook, TerminalColors};
use crate::theme::{self, letter};
use crate::visible::visible;

/// As wide as those of a report on a terminal.
const WIDEST_BAR: usize = 50;
/// Enough for a class and a user.
const WIDEST_LABEL: usize = 36;

pub(super) fn write(text: &mut String, picture: &Picture, bars: &Bars, look: &PictureLook) {
    if bars.groups.is_empty() {
        text.push_str("Nothing to show.\n");
        return;
    }
    let label_width = widest(bars.groups.iter().map(|group| group.label.as_str()), WIDEST_LABEL);
    let lines: Vec<Vec<Line<'_>>> =
        bars.groups.iter().map(|group| lines(picture, bars, group)).collect();
    let words_width = lines.iter().flatten().map(|line| columns(&line.words)).max().unwrap_or(0);
    let room = look.terminal_columns.map_or(WIDEST_BAR, |columns| {
        columns.saturating_sub(label_width + 1 + words_width + 1).clamp(10, WIDEST_BAR)
    });
    let longest = bars.longest();

    *text += &format!("{}\n", visible(&bars.heading));
    for (group, lines) in bars.groups.iter().zip(lines) {
        for (index, line) in lines.iter().enumerate() {
            let label = if index == 0 { group.label.as_str() } else { "" };
            let bar = bar(bars, line, longest, room, look);
            let separator = if bar.is_empty() { "" } else { " " };
            *text += &format!("{}{bar}{separator}{}\n", padded(label, label_width), line.words);
        }
    }
    if bars.parts.len() > 1 {
        text.push('\n');
        for part in &bars.parts {
            *text += &format!("{}  {}\n", sign(part.kind, look), visible(&part.name));
        }
    }
}

/// A line of the terminal: some parts, one after the other, and what they are.
struct Line<'a> {
    parts: Vec<(Kind, &'a Amount)>,
    words: String,
}

fn lines<'a>(picture: &Picture, bars: &Bars, group: &'a Group) -> Vec<Line<'a>> {
    let parts = bars.parts.iter().map(|part| part.kind).zip(&group.amounts);
    let words = |amount: &Amount| bar_words(picture, bars, amount);
    match bars.layout {
        Layout::Stacked => {
            let all: Vec<String> = group.amounts.iter().map(words).collect();
            vec![Line { parts: parts.collect(), words: all.join(" + ") }]
        }
        Layout::Beside => {
            let line = |part: (Kind, &'a Amount)| Line { words: words(part.1), parts: vec![part] };
            parts.map(line).collect()
        }
    }
}

/// The bar, of which an unknown part is none of its length; a known one above zero is seen. A stack
/// is not drawn without one of its parts.
fn bar(bars: &Bars, line: &Line<'_>, longest: f64, room: usize, look: &PictureLook) -> String {
    let mut bar = String::new();
    if line.parts.iter().any(|(_, amount)| amount.value.is_none()) {
        return bar;
    }
    let (mut reached, mut drawn) = (0.0, 0);
    for (kind, amount) in &line.parts {
        let value = amount.value.unwrap_or(0.0);
        reached += value;
        // Each ends where its sum does, so that rounding does not add up.
        let end = (reached / longest.max(f64::MIN_POSITIVE) * room as f64).round() as usize;
        let end = if value > 0.0 { end.max(drawn + 1) } else { end.max(drawn) };
        bar += &blocks(*kind, end - drawn, bars.parts.len() > 1, look);
        drawn = end;
    }
    bar
}

fn blocks(kind: Kind, count: usize, has_several: bool, look: &PictureLook) -> String {
    match look.terminal_colors {
        _ if count == 0 => String::new(),
        TerminalColors::None if has_several => letter(kind).to_string().repeat(count),
        TerminalColors::None => "█".repeat(count),
        colors => {
            let color = look.theme.fill(kind).color;
            format!("{}{}{}", ink(color, colors), "█".repeat(count), theme::RESET)
        }
    }
}
