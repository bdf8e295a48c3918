//! How often amounts occur, a bar for each range of them.

use report::{Histogram, Kind, Picture, Value};

use super::frame;
use super::letters::width;
use super::svg::{Anchor, Letters, Short, escaped};
use super::{Style, scale};

pub(super) fn draw(picture: &Picture, histogram: &Histogram, style: &Style<'_>) -> String {
    let highest = histogram.bins.iter().map(|bin| bin.count).fold(0.0, f64::max);
    let ticks = scale::ticks(highest, 5);
    let end = ticks.last().copied().unwrap_or(1.0);
    let labels: Vec<String> = ticks.iter().map(|tick| scale::shown(*tick)).collect();
    let widest = labels.iter().map(|label| width(label, frame::AXIS, false)).fold(0.0, f64::max);
    let mut frame =
        frame::frame(picture, &[], &histogram.count_heading, widest + 12.0, 300.0, style);
    let plot = frame.plot;
    let y = |count: f64| plot.top + plot.height * (1.0 - count / end);

    let letters = |color, anchor| Letters { size: frame::AXIS, bold: false, color, anchor };
    for (tick, label) in ticks.iter().zip(&labels) {
        let y = y(*tick);
        frame.svg.line((plot.left, y), (plot.left + plot.width, y), style.theme.line, 0.5);
        let letters = letters(style.theme.ink, Anchor::End);
        frame.svg.text(plot.left - 6.0, y + frame::AXIS * 0.36, letters, label);
    }
    let bottom = plot.top + plot.height;
    let below = letters(style.theme.faint, Anchor::Middle);
    frame.svg.text(plot.left + plot.width / 2.0, bottom + 29.0, below, &histogram.heading);

    let step = plot.width / histogram.bins.len().max(1) as f64;
    let color = style.theme.fill(Kind::Ranked(0)).color;
    let mut free_from = f64::NEG_INFINITY;
    for (index, bin) in histogram.bins.iter().enumerate() {
        let (left, top) = (plot.left + index as f64 * step, y(bin.count));
        let count = histogram.count_unit.show(&Value::Number(bin.count), &picture.period.zone);
        let (x, bar_y, bar_width, height) =
            (Short(left + step * 0.08), Short(top), Short(step * 0.84), Short(bottom - top));
        let title = match style.has_tooltips {
            true => format!("<title>{}: {}</title>", escaped(&bin.label), escaped(&count)),
            false => String::new(),
        };
        frame.svg.raw(format_args!(
            "<rect x=\"{x}\" y=\"{bar_y}\" width=\"{bar_width}\" height=\"{height}\" \
             fill=\"{color}\">{title}</rect>\n"
        ));
        let middle = left + step / 2.0;
        if width(&count, frame::AXIS, false) <= step && bin.count > 0.0 {
            let letters = letters(style.theme.faint, Anchor::Middle);
            frame.svg.text(middle, top - 3.0, letters, &count);
        }
        let half = width(&bin.label, frame::AXIS, false) / 2.0;
        if middle - half > free_from {
            frame::mark(&mut frame, middle, &bin.label, "", style);
            free_from = middle + half + 4.0;
        }
    }
    frame.svg.finish(&picture.title)
}
