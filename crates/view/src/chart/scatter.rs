//! Things by two amounts, a dot each.

use report::{Dot, Kind, Picture, Scatter, Value};

use super::frame;
use super::letters::width;
use super::svg::{Anchor, Letters, Short, escaped};
use super::{Style, scale};

/// How many dots have their name beside them: those with most.
const MOST_NAMES: usize = 12;

pub(super) fn draw(picture: &Picture, scatter: &Scatter, style: &Style<'_>) -> String {
    let highest = scatter.dots.iter().map(|dot| dot.up).fold(0.0, f64::max);
    let ticks = scale::ticks(highest, 5);
    let end = ticks.last().copied().unwrap_or(1.0);
    let labels: Vec<String> = ticks.iter().map(|tick| scale::shown(*tick)).collect();
    let widest = labels.iter().map(|label| width(label, frame::AXIS, false)).fold(0.0, f64::max);
    let mut frame = frame::frame(picture, &[], &scatter.up.heading, widest + 12.0, 300.0, style);
    let plot = frame.plot;
    let powers = powers(&scatter.dots);
    let x = |amount: f64| {
        let part = (amount.log10() - f64::from(powers.0)) / f64::from(powers.1 - powers.0);
        plot.left + plot.width * part
    };
    let y = |amount: f64| plot.top + plot.height * (1.0 - amount / end);

    let letters = |color, anchor| Letters { size: frame::AXIS, bold: false, color, anchor };
    for (tick, label) in ticks.iter().zip(&labels) {
        let y = y(*tick);
        frame.svg.line((plot.left, y), (plot.left + plot.width, y), style.theme.line, 0.5);
        let letters = letters(style.theme.ink, Anchor::End);
        frame.svg.text(plot.left - 6.0, y + frame::AXIS * 0.36, letters, label);
    }
    for power in powers.0..=powers.1 {
        let x = x(10f64.powi(power));
        frame.svg.line((x, plot.top), (x, plot.top + plot.height), style.theme.line, 0.5);
        frame::mark(&mut frame, x, &scale::shown(10f64.powi(power)), "", style);
    }
    let below = letters(style.theme.faint, Anchor::Middle);
    let middle = plot.left + plot.width / 2.0;
    frame.svg.text(middle, plot.top + plot.height + 29.0, below, &scatter.across.heading);

    let color = style.theme.fill(Kind::Ranked(0)).color;
    let mut named: Vec<(f64, f64)> = Vec::new();
    for (place, dot) in scatter.dots.iter().enumerate() {
        let (left, top) = (x(dot.across), y(dot.up));
        let about = escaped(&about(picture, scatter, dot));
        let title = match style.has_tooltips {
            true => format!("<title>{about}</title>"),
            false => String::new(),
        };
        let (begin, end) = match (style.link)(&dot.name) {
            Some(address) => {
                (format!("<a href=\"{}\" aria-label=\"{about}\">", escaped(&address)), "</a>")
            }
            None => (String::new(), ""),
        };
        let (cx, cy) = (Short(left), Short(top));
        frame.svg.raw(format_args!(
            "{begin}<circle cx=\"{cx}\" cy=\"{cy}\" r=\"5\" fill=\"{color}\" fill-opacity=\"0.7\">\
             {title}</circle>{end}\n"
        ));
        let is_free = named.iter().all(|(x, y)| (x - left).abs() > 70.0 || (y - top).abs() > 11.0);
        if place < MOST_NAMES && is_free {
            let fits = left + 8.0 + width(&dot.name, frame::AXIS, false) < style.width;
            let (anchor, beside) = if fits { (Anchor::Start, 8.0) } else { (Anchor::End, -8.0) };
            frame.svg.text(left + beside, top + 3.5, letters(style.theme.ink, anchor), &dot.name);
            named.push((left, top));
        }
    }
    frame.svg.finish_with_links(&picture.title)
}

/// What a dot is, as people read it.
fn about(picture: &Picture, scatter: &Scatter, dot: &Dot) -> String {
    let zone = &picture.period.zone;
    let (across, up) = (&scatter.across, &scatter.up);
    format!(
        "{}: {} {}, {} {}",
        dot.name,
        across.unit.show(&Value::Number(dot.across), zone),
        across.heading,
        up.unit.show(&Value::Number(dot.up), zone),
        up.heading
    )
}

/// The powers of ten between which all dots lie.
fn powers(dots: &[Dot]) -> (i32, i32) {
    let power = |amount: f64| amount.log10();
    let least = dots.iter().map(|dot| power(dot.across)).fold(f64::INFINITY, f64::min);
    let most = dots.iter().map(|dot| power(dot.across)).fold(f64::NEG_INFINITY, f64::max);
    if dots.is_empty() {
        return (0, 1);
    }
    let first = least.floor() as i32;
    (first, (most.ceil() as i32).max(first + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_of_powers_holds_every_dot() {
        let dots = |amounts: &[f64]| -> Vec<Dot> {
            let dot = |across: &f64| Dot { name: String::new(), across: *across, up: 1.0 };
            amounts.iter().map(dot).collect()
        };
        assert_eq!(powers(&dots(&[0.5, 120.0])), (-1, 3));
        assert_eq!(powers(&dots(&[10.0])), (1, 2));
        assert_eq!(powers(&[]), (0, 1));
    }
}
