//! The colours of pictures: what stands for which [`Kind`], in each theme.

use std::fmt::{self, Write};

use report::{HIGHEST_LEVEL, Kind};

/// Every theme, in the order in which help lists them; the first is the one that nobody has to
/// ask for.
pub static THEMES: [&Theme; 4] = [&DEFAULT, &COLORBLIND, &PRINT, &DARK];

/// The theme of a page where the reader's screen is dark.
pub(crate) static NIGHT: &Theme = &DARK;

/// The colours of a picture.
#[derive(Debug)]
pub struct Theme {
    /// The value of `--theme`.
    pub name: &'static str,
    /// What it is for, as a sentence of the help.
    pub meaning: &'static str,
    pub(crate) paper: Color,
    pub(crate) ink: Color,
    pub(crate) faint: Color,
    pub(crate) line: Color,
    states: [Fill; 12],
    /// By place; a ninth has the first one's colour again.
    ranked: [Color; 8],
    rest: Color,
    idle: Color,
    /// No area has it, so that the line stands out on all of them.
    granted: Color,
    unmeasured: Fill,
    /// The ends of a measured quantity.
    low: Color,
    high: Color,
}

/// What an area is filled with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fill {
    pub(crate) color: Color,
    /// Lines across it, where it is large enough for them; the colour alone must tell it apart
    /// where it is not.
    pub(crate) hatch: Option<Hatch>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hatch {
    Rising(Color),
    Falling(Color),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Color(pub(crate) u8, pub(crate) u8, pub(crate) u8);

impl Theme {
    /// The theme that `--theme` names.
    pub fn by_name(name: &str) -> Option<&'static Theme> {
        THEMES.into_iter().find(|theme| theme.name == name)
    }

    pub(crate) fn fill(&self, kind: Kind) -> Fill {
        match kind {
            Kind::IdlePrioritized => self.states[0],
            Kind::IdleOpenCapacity => self.states[1],
            Kind::BusyPrioritized => self.states[2],
            Kind::BusyOpenCapacity => self.states[3],
            Kind::BusyBackfill => self.states[4],
            Kind::Unobserved => self.states[5],
            Kind::Drained => self.states[6],
            Kind::Prevented => self.states[7],
            Kind::Draining => self.states[8],
            Kind::Down => self.states[9],
            Kind::Maintenance => self.states[10],
            Kind::Rebooting => self.states[11],
            Kind::Ranked(place) => plain(self.ranked[usize::from(place) % self.ranked.len()]),
            Kind::Rest => plain(self.rest),
            Kind::Idle => plain(self.idle),
            Kind::Level(step) => plain(self.level(f64::from(step) / f64::from(HIGHEST_LEVEL))),
            Kind::Capacity => plain(self.ink),
            Kind::Granted => plain(self.granted),
            Kind::Unmeasured => self.unmeasured,
        }
    }

    /// The colour in which letters stand out on another.
    pub(crate) fn ink_on(&self, color: Color) -> Color {
        if color.is_light() == self.paper.is_light() { self.ink } else { self.paper }
    }

    /// The colour of a number, from 0 for the lowest to 1 for the highest of a picture.
    pub(crate) fn level(&self, part: f64) -> Color {
        let part = part.clamp(0.0, 1.0);
        let between = |low: u8, high: u8| {
            (f64::from(low) + (f64::from(high) - f64::from(low)) * part).round() as u8
        };
        let (low, high) = (self.low, self.high);
        Color(between(low.0, high.0), between(low.1, high.1), between(low.2, high.2))
    }
}

/// Rules by which a page shows pictures of the first theme in the colours of the dark one, where
/// the reader's screen is dark.
pub(crate) fn night_rules() -> String {
    let mut rules = String::new();
    for (day, night) in DEFAULT.colors().into_iter().zip(DARK.colors()) {
        for paint in ["fill", "stroke"] {
            let _ = writeln!(
                rules,
                "  figure.picture [{paint}=\"{day}\"]:not(.numbers *) {{ {paint}: {night}; }}"
            );
        }
    }
    format!("@media screen and (prefers-color-scheme: dark) {{\n{rules}}}\n")
}

impl Theme {
    /// Every colour, in the same order in each theme.
    fn colors(&self) -> Vec<Color> {
        let mut colors =
            vec![self.paper, self.ink, self.faint, self.line, self.rest, self.idle, self.granted];
        colors.extend(self.ranked);
        colors.extend((0..=HIGHEST_LEVEL).map(|step| self.fill(Kind::Level(step)).color));
        for fill in self.states.iter().chain([&self.unmeasured]) {
            colors.push(fill.color);
            if let Some(Hatch::Rising(line) | Hatch::Falling(line)) = fill.hatch {
                colors.push(line);
            }
        }
        colors
    }
}

/// The letter that stands for a kind where there is no colour.
pub(crate) fn letter(kind: Kind) -> char {
    match kind {
        Kind::IdlePrioritized => 'I',
        Kind::IdleOpenCapacity => 'i',
        Kind::BusyPrioritized => 'B',
        Kind::BusyOpenCapacity => 'b',
        Kind::BusyBackfill => 'f',
        Kind::Draining => 'D',
        Kind::Drained => 'd',
        Kind::Down => 'x',
        Kind::Maintenance => 'm',
        Kind::Rebooting => 'r',
        Kind::Prevented => 'p',
        Kind::Unobserved => '.',
        Kind::Ranked(place) => char::from(b'A' + place % 26),
        Kind::Rest => '*',
        Kind::Idle => '-',
        Kind::Level(step) => char::from(b'0' + step % 10),
        Kind::Capacity => '+',
        Kind::Granted => '=',
        Kind::Unmeasured => '?',
    }
}

impl Color {
    /// Whether dark letters stand out on it better than light ones, by the weights of ITU-R
    /// BT.601.
    pub(crate) fn is_light(self) -> bool {
        let Color(red, green, blue) = self;
        299 * u32::from(red) + 587 * u32::from(green) + 114 * u32::from(blue) > 140_000
    }

    /// The nearest of the 6 × 6 × 6 colours and 24 greys that a terminal of 256 colours has.
    pub(crate) fn indexed(self) -> u8 {
        const STEPS: [u8; 6] = [0, 95, 135, 175, 215, 255];
        let distance = |other: Color| {
            let apart = |one: u8, two: u8| u32::from(one.abs_diff(two)).pow(2);
            apart(self.0, other.0) + apart(self.1, other.1) + apart(self.2, other.2)
        };
        let cube = (0..216u8).map(|index| {
            let step = |index: u8| STEPS[usize::from(index % 6)];
            (16 + index, Color(step(index / 36), step(index / 6), step(index)))
        });
        let greys = (0..24u8).map(|index| {
            let grey = 8 + 10 * index;
            (232 + index, Color(grey, grey, grey))
        });
        cube.chain(greys).min_by_key(|&(_, color)| distance(color)).map_or(0, |(index, _)| index)
    }
}

impl fmt::Display for Color {
    /// As SVG and HTML write it: `#ff8800`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "#{:02x}{:02x}{:02x}", self.0, self.1, self.2)
    }
}

const fn rgb(code: u32) -> Color {
    Color((code >> 16) as u8, (code >> 8) as u8, code as u8)
}

const fn plain(color: Color) -> Fill {
    Fill { color, hatch: None }
}

const fn rising(color: u32, line: u32) -> Fill {
    Fill { color: rgb(color), hatch: Some(Hatch::Rising(rgb(line))) }
}

const fn falling(color: u32, line: u32) -> Fill {
    Fill { color: rgb(color), hatch: Some(Hatch::Falling(rgb(line))) }
}

static DEFAULT: Theme = Theme {
    name: "default",
    meaning: "Red and orange for idle, green and blue for busy, grey for unknown",
    paper: rgb(0xffffff),
    ink: rgb(0x14212b),
    faint: rgb(0x51606b),
    line: rgb(0xcfd6da),
    states: [
        plain(rgb(0xff4444)),
        plain(rgb(0xff8800)),
        plain(rgb(0x44ff44)),
        plain(rgb(0x00cc99)),
        plain(rgb(0x4488ff)),
        plain(rgb(0xcccccc)),
        rising(0xc9b3dd, 0x7a4fa3),
        falling(0xe8dc9a, 0x8a7a1f),
        rising(0x8a4fc0, 0xe9dcf7),
        plain(rgb(0x5a0f14)),
        falling(0x1b2a8c, 0xaab4f2),
        plain(rgb(0x246c6c)),
    ],
    ranked: QUALITATIVE,
    rest: rgb(0x9aa5ad),
    idle: rgb(0xeef1f2),
    granted: rgb(0xb5179e),
    unmeasured: rising(0xdfe5e8, 0x7d8b95),
    low: rgb(0xe7f1fb),
    high: rgb(0x08306b),
};

/// Eight colours that are easily told apart, by Okabe and Ito, black replaced by a brown.
const QUALITATIVE: [Color; 8] = [
    rgb(0x0072b2),
    rgb(0xe69f00),
    rgb(0x009e73),
    rgb(0xcc79a7),
    rgb(0xd55e00),
    rgb(0x56b4e9),
    rgb(0xf0e442),
    rgb(0x7a4b2a),
];

/// By Okabe and Ito, "Color universal design" (2008).
static COLORBLIND: Theme = Theme {
    name: "colorblind",
    meaning: "Told apart with any kind of colour vision",
    paper: rgb(0xffffff),
    ink: rgb(0x14212b),
    faint: rgb(0x51606b),
    line: rgb(0xcfd6da),
    states: [
        plain(rgb(0xd55e00)),
        plain(rgb(0xf2c14e)),
        plain(rgb(0x004c7a)),
        plain(rgb(0x56b4e9)),
        plain(rgb(0x009e73)),
        plain(rgb(0xd9d9d9)),
        rising(0xe3b5cf, 0x8f3a6b),
        falling(0xf7f0a8, 0x6f6800),
        rising(0x9a4fd8, 0xecdcfa),
        plain(rgb(0x3d0f14)),
        falling(0x1a1a6e, 0xb0b0ea),
        plain(rgb(0x904824)),
    ],
    ranked: QUALITATIVE,
    rest: rgb(0x9aa5ad),
    idle: rgb(0xeef1f2),
    granted: rgb(0x8a1c7c),
    unmeasured: rising(0xdfe5e8, 0x7d8b95),
    low: rgb(0xfff7d6),
    high: rgb(0x3b1f5c),
};

/// No two states have the same lightness, so that a copy in grey still tells them apart.
static PRINT: Theme = Theme {
    name: "print",
    meaning: "For paper, and still readable as a copy in black and white",
    paper: rgb(0xffffff),
    ink: rgb(0x000000),
    faint: rgb(0x404040),
    line: rgb(0xb0b0b0),
    states: [
        plain(rgb(0xf4a582)),
        plain(rgb(0xfddbc7)),
        plain(rgb(0x05264d)),
        plain(rgb(0x2166ac)),
        plain(rgb(0x67a0c8)),
        plain(rgb(0xf2f2f2)),
        rising(0xd4d4d4, 0x303030),
        falling(0xacacac, 0x303030),
        rising(0xbfbfbf, 0x202020),
        plain(rgb(0x303030)),
        falling(0x757575, 0xf0f0f0),
        plain(rgb(0x4b4b4b)),
    ],
    ranked: QUALITATIVE,
    rest: rgb(0xa8a8a8),
    idle: rgb(0xf2f2f2),
    granted: rgb(0x7a0055),
    unmeasured: rising(0xe0e0e0, 0x606060),
    low: rgb(0xf2f2f2),
    high: rgb(0x000000),
};

static DARK: Theme = Theme {
    name: "dark",
    meaning: "For a dark screen",
    paper: rgb(0x10181e),
    ink: rgb(0xe4eaee),
    faint: rgb(0x9aa8b2),
    line: rgb(0x33424d),
    states: [
        plain(rgb(0xff5c5c)),
        plain(rgb(0xff9f43)),
        plain(rgb(0x4ade5c)),
        plain(rgb(0x12b892)),
        plain(rgb(0x5b9bff)),
        plain(rgb(0x3a464f)),
        rising(0x6a5780, 0xb79ad6),
        falling(0x6f6533, 0xd6c768),
        rising(0x9024b4, 0xe3b8f2),
        plain(rgb(0xf4f0f0)),
        falling(0x4a3af0, 0xb8b2fa),
        plain(rgb(0xfcd800)),
    ],
    ranked: [
        rgb(0x4aa3df),
        rgb(0xf0b43c),
        rgb(0x2fc39a),
        rgb(0xe096c2),
        rgb(0xf07c3a),
        rgb(0x9ad4f5),
        rgb(0xf5ec7a),
        rgb(0xb88a66),
    ],
    rest: rgb(0x6f7d87),
    idle: rgb(0x1c272f),
    granted: rgb(0xff7ad9),
    unmeasured: rising(0x2a363f, 0x7d8b95),
    low: rgb(0x16283a),
    high: rgb(0x9fd3ff),
};

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    const STATES: [Kind; 12] = [
        Kind::IdlePrioritized,
        Kind::IdleOpenCapacity,
        Kind::BusyPrioritized,
        Kind::BusyOpenCapacity,
        Kind::BusyBackfill,
        Kind::Unobserved,
        Kind::Drained,
        Kind::Prevented,
        Kind::Draining,
        Kind::Down,
        Kind::Maintenance,
        Kind::Rebooting,
    ];

    #[test]
    fn the_default_colours_are_those_that_sites_know() {
        let colors = STATES.map(|kind| DEFAULT.fill(kind).color.to_string());
        let known = ["#ff4444", "#ff8800", "#44ff44", "#00cc99", "#4488ff", "#cccccc"];
        assert_eq!(colors[..6], known);
    }

    #[test]
    fn every_theme_tells_all_states_apart_by_colour_alone_and_by_letter() {
        for theme in THEMES {
            let colors: HashSet<String> =
                STATES.map(|kind| theme.fill(kind).color.to_string()).into();
            assert_eq!(colors.len(), STATES.len(), "{}", theme.name);
        }
        assert_eq!(HashSet::from(STATES.map(letter)).len(), STATES.len());
    }

    /// What eyes without one kind of cone see, in linear RGB, by Machado, Oliveira and Fernandes,
    /// "A physiologically-based model for simulation of color vision deficiency" (2009).
    const VISIONS: [[[f64; 3]; 3]; 4] = [
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ],
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ],
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ],
    ];

    /// The place of a colour in CIELAB, as one kind of vision sees it.
    fn lab(Color(red, green, blue): Color, vision: &[[f64; 3]; 3]) -> [f64; 3] {
        let linear = [red, green, blue].map(|part| {
            let part = f64::from(part) / 255.0;
            if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
        });
        let product = |row: [f64; 3], column: [f64; 3]| -> f64 {
            row.iter().zip(column).map(|(one, other)| one * other).sum()
        };
        let seen = vision.map(|row| product(row, linear).clamp(0.0, 1.0));
        let root = |part: f64| {
            if part > 0.008856 { part.cbrt() } else { 7.787 * part + 16.0 / 116.0 }
        };
        let x = root(product([0.4124, 0.3576, 0.1805], seen) / 0.9505);
        let y = root(product([0.2126, 0.7152, 0.0722], seen));
        let z = root(product([0.0193, 0.1192, 0.9505], seen) / 1.089);
        [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
    }

    /// A distance of 2.3 is just noticeable.
    #[test]
    fn states_are_told_apart_on_a_screen_with_any_colour_vision() {
        for theme in [&DEFAULT, &COLORBLIND, &DARK] {
            for (place, one) in STATES.iter().enumerate() {
                for other in &STATES[place + 1..] {
                    let apart = VISIONS.iter().map(|vision| {
                        let place = |kind| lab(theme.fill(kind).color, vision);
                        let parts = place(*one).into_iter().zip(place(*other));
                        parts.map(|(one, other)| (one - other).powi(2)).sum::<f64>().sqrt()
                    });
                    let nearest = apart.fold(f64::INFINITY, f64::min);
                    assert!(nearest > 8.0, "{}: {one:?} {other:?} {nearest}", theme.name);
                }
            }
        }
    }

    /// Lightness in grey, by the weights of ITU-R BT.601, in thousandths of 255.
    fn grey(Color(red, green, blue): Color) -> i64 {
        (299 * i64::from(red) + 587 * i64::from(green) + 114 * i64::from(blue)) / 255
    }

    #[test]
    fn a_grey_copy_of_the_print_theme_tells_all_states_apart() {
        let mut greys = STATES.map(|kind| grey(PRINT.fill(kind).color));
        greys.sort_unstable();
        for pair in greys.windows(2) {
            // Hatching helps where the difference is small.
            assert!(pair[1] - pair[0] >= 20, "{greys:?}");
        }
    }

    #[test]
    fn a_page_by_night_has_a_colour_for_each_that_it_has_by_day() {
        let (day, night) = (DEFAULT.colors(), DARK.colors());
        assert_eq!(day.len(), night.len());
        let distinct: HashSet<String> = day.iter().map(ToString::to_string).collect();
        assert_eq!(distinct.len(), day.len(), "two things share a colour by day");
        assert!(night_rules().contains("[fill=\"#ff4444\"]:not(.numbers *) { fill: #ff5c5c; }"));
    }

    #[test]
    fn levels_go_from_the_low_colour_to_the_high_one() {
        assert_eq!(DEFAULT.fill(Kind::Level(0)).color, DEFAULT.low);
        assert_eq!(DEFAULT.fill(Kind::Level(HIGHEST_LEVEL)).color, DEFAULT.high);
        // Half way between #e7f1fb and #08306b: (231 + 8) / 2 = 119.5, (241 + 48) / 2 = 144.5 and
        // (251 + 107) / 2 = 179, halves rounded up.
        assert_eq!(DEFAULT.level(0.5), Color(120, 145, 179));
    }

    #[test]
    fn a_terminal_of_256_colours_has_the_nearest() {
        assert_eq!(rgb(0xff0000).indexed(), 196); // 16 + 36 × 5
        assert_eq!(rgb(0xcccccc).indexed(), 252); // the grey 8 + 10 × 20 = 208
    }
}
