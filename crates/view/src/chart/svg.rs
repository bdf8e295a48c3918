//! Shapes and letters as SVG. One unit is a 96th of an inch, as in CSS.

use std::fmt::Write;

use crate::theme::{Color, Fill, Hatch};
use crate::visible::visible;

/// A picture in the making.
pub(crate) struct Svg {
    width: f64,
    height: f64,
    /// Begins the names of its patterns, so that two pictures on one page do not share them.
    prefix: String,
    patterns: Vec<(Color, Hatch)>,
    body: String,
}

/// Where a text stands beside its point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// How letters look.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Letters {
    pub(crate) size: f64,
    pub(crate) bold: bool,
    pub(crate) color: Color,
    pub(crate) anchor: Anchor,
}

impl Svg {
    pub(crate) fn new(width: f64, height: f64, prefix: &str, paper: Color) -> Svg {
        let mut svg = Svg {
            width,
            height,
            prefix: prefix.to_owned(),
            patterns: Vec::new(),
            body: String::new(),
        };
        svg.rect(0.0, 0.0, width, height, &paper.to_string());
        svg
    }

    /// What stands in `fill=` for a fill; `large` areas show its hatching.
    pub(crate) fn paint(&mut self, fill: Fill, large: bool) -> String {
        let Some(hatch) = fill.hatch.filter(|_| large) else {
            return fill.color.to_string();
        };
        let pattern = (fill.color, hatch);
        let place = self.patterns.iter().position(|known| *known == pattern).unwrap_or_else(|| {
            self.patterns.push(pattern);
            self.patterns.len() - 1
        });
        format!("url(#{}hatch{place})", self.prefix)
    }

    pub(crate) fn rect(&mut self, x: f64, y: f64, width: f64, height: f64, paint: &str) {
        let (x, y, width, height) = (Short(x), Short(y), Short(width), Short(height));
        self.raw(format_args!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"{paint}\"/>\n"
        ));
    }

    /// A line along an axis, or across.
    pub(crate) fn line(&mut self, from: (f64, f64), to: (f64, f64), color: Color, width: f64) {
        self.raw(format_args!(
            "<path d=\"M{} {}L{} {}\" stroke=\"{color}\" stroke-width=\"{}\" fill=\"none\"/>\n",
            Short(from.0),
            Short(from.1),
            Short(to.0),
            Short(to.1),
            Short(width),
        ));
    }

    /// A text whose letters stand on `y`.
    pub(crate) fn text(&mut self, x: f64, y: f64, letters: Letters, text: &str) {
        let Letters { size, bold, color, anchor } = letters;
        let weight = if bold { " font-weight=\"600\"" } else { "" };
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let (x, y, size, text) = (Short(x), Short(y), Short(size), escaped(text));
        self.raw(format_args!(
            "<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\"{weight}{anchor} fill=\"{color}\">{text}</text>\n"
        ));
    }

    /// Elements that the caller has written, with every name in them [`escaped`].
    pub(crate) fn raw(&mut self, elements: std::fmt::Arguments<'_>) {
        self.body.write_fmt(elements).expect("a string takes whatever is written to it");
    }

    /// The picture: an element that stands in a page, or in a file of its own.
    pub(crate) fn finish(self, title: &str) -> String {
        self.finish_as("img", title)
    }

    /// The picture, in which there may be links: to who hears it read, it is more than an image.
    pub(crate) fn finish_with_links(self, title: &str) -> String {
        self.finish_as("group", title)
    }

    fn finish_as(self, role: &str, title: &str) -> String {
        let (width, height) = (Short(self.width), Short(self.height));
        let mut text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
             width=\"{width}\" height=\"{height}\" role=\"{role}\" \
             font-family=\"Inter, system-ui, sans-serif\">\n<title>{}</title>\n",
            escaped(title)
        );
        if !self.patterns.is_empty() {
            text.push_str("<defs>\n");
            for (place, (color, hatch)) in self.patterns.iter().enumerate() {
                let (line, path) = match hatch {
                    Hatch::Rising(line) => (line, "M-1 1L1 -1M0 4L4 0M3 5L5 3"),
                    Hatch::Falling(line) => (line, "M-1 3L1 5M0 0L4 4M3 -1L5 1"),
                };
                text += &format!(
                    "<pattern id=\"{}hatch{place}\" width=\"4\" height=\"4\" \
                     patternUnits=\"userSpaceOnUse\"><rect width=\"4\" height=\"4\" \
                     fill=\"{color}\"/><path d=\"{path}\" stroke=\"{line}\" \
                     stroke-width=\"0.8\"/></pattern>\n",
                    self.prefix
                );
            }
            text.push_str("</defs>\n");
        }
        text.push_str(&self.body);
        text.push_str("</svg>\n");
        text
    }
}

/// A number with as few digits as a picture needs: a hundredth of a unit is a thirtieth of a
/// pixel even at 300 dots per inch.
#[derive(Clone, Copy)]
pub(crate) struct Short(pub(crate) f64);

impl std::fmt::Display for Short {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let hundredths = (self.0 * 100.0).round() as i64;
        let (whole, rest) = (hundredths.abs() / 100, hundredths.abs() % 100);
        if hundredths < 0 {
            formatter.write_str("-")?;
        }
        match rest {
            0 => write!(formatter, "{whole}"),
            rest if rest % 10 == 0 => write!(formatter, "{whole}.{}", rest / 10),
            rest => write!(formatter, "{whole}.{rest:02}"),
        }
    }
}

/// Text that XML and HTML read as text, whatever a stranger put into a name.
pub(crate) fn escaped(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    for character in visible(text).chars() {
        match character {
            '&' => written.push_str("&amp;"),
            '<' => written.push_str("&lt;"),
            '>' => written.push_str("&gt;"),
            '"' => written.push_str("&quot;"),
            _ => written.push(character),
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let shown = [0.0, -0.001, 12.0, 3.1, 3.14659, -2.005, 0.05].map(|n| Short(n).to_string());
        assert_eq!(shown, ["0", "0", "12", "3.1", "3.15", "-2.01", "0.05"]);
    }

    #[test]
    fn a_name_cannot_end_its_element() {
        assert_eq!(escaped("</text>\"&\u{1b}\u{ffff}"), "&lt;/text&gt;&quot;&amp;␛\u{fffd}");
    }
}
