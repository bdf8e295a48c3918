//! Bars and curves in every format.

use report::{Amount, Band, Bars, Curve, Curves, Group, Layout, Part, Point};

use super::*;

fn amount(value: Option<f64>) -> Amount {
    Amount { value, band: None }
}

fn group(label: &str, amounts: &[Amount]) -> Group {
    Group { label: label.into(), amounts: amounts.into() }
}

fn part(name: &str, kind: Kind) -> Part {
    Part { name: name.into(), kind }
}

/// Of 8 hours all that there is of an A100, of a name that is too long for its room, and of one
/// of which a part is not known.
fn stacks() -> Bars {
    let hours = |hours: [Option<f64>; 2]| hours.map(amount);
    Bars {
        label_heading: "Model".into(),
        heading: "GPU hours".into(),
        unit: Unit::Hours,
        is_sequence: false,
        layout: Layout::Stacked,
        parts: vec![part("goodput", Kind::Ranked(2)), part("badput", Kind::Ranked(4))],
        groups: vec![
            group("A100", &hours([Some(6.0), Some(2.0)])),
            group("a model with <a name> that goes on & on", &hours([Some(0.0), Some(4.0)])),
            group("H200", &hours([Some(3.0), None])),
        ],
    }
}

/// A chance of 80 %, between 70 and 95, and one that is not known.
fn chances() -> Bars {
    let band = Some(Band { lower: 70.0, upper: 95.0 });
    Bars {
        label_heading: "Model".into(),
        heading: "Chance %".into(),
        unit: Unit::Percent,
        is_sequence: false,
        layout: Layout::Beside,
        parts: vec![part("chance", Kind::Ranked(0))],
        groups: vec![
            group("all", &[Amount { value: Some(80.0), band }]),
            group("A100", &[amount(None)]),
        ],
    }
}

/// Two medians each.
fn medians() -> Bars {
    let seconds = |seconds: [Option<f64>; 2]| seconds.map(amount);
    Bars {
        unit: Unit::Duration,
        heading: "Length".into(),
        parts: vec![part("estimated", Kind::Ranked(0)), part("seen", Kind::Ranked(5))],
        groups: vec![
            group("all", &seconds([Some(7200.0), Some(3600.0)])),
            group("A100", &seconds([None, Some(5400.0)])),
        ],
        ..chances()
    }
}

fn days() -> Bars {
    let mut bars = Bars { is_sequence: true, ..stacks() };
    for (group, day) in bars.groups.iter_mut().zip(["03-01", "03-02", "03-03"]) {
        group.label = day.into();
    }
    bars
}

/// One that falls after an hour and after four, with a band until then, and one that stays.
fn curves() -> Curves {
    let point = |hours: f64, value, band: Option<(f64, f64)>| Point {
        at_seconds: hours * 3600.0,
        value,
        band: band.map(|(lower, upper)| Band { lower, upper }),
    };
    Curves {
        at_heading: "After".into(),
        heading: "Not evicted %".into(),
        unit: Unit::Percent,
        curves: vec![
            Curve {
                name: "A100".into(),
                kind: Kind::Ranked(0),
                points: vec![
                    point(0.0, 100.0, Some((100.0, 100.0))),
                    point(0.25, 90.0, Some((80.0, 100.0))),
                    point(1.0, 50.0, Some((40.0, 60.0))),
                    point(4.0, 20.0, None),
                ],
            },
            Curve {
                name: "H200".into(),
                kind: Kind::Ranked(1),
                points: vec![point(0.0, 100.0, None), point(1.0, 100.0, None)],
            },
        ],
    }
}

fn of(drawing: Drawing) -> Picture {
    picture(drawing, 4)
}

#[test]
fn the_stacks() {
    let picture = of(Drawing::Bars(stacks()));
    for format in ["svg", "text", "csv", "json"] {
        insta::assert_snapshot!(
            format!("the_stacks_{format}"),
            written(format, &picture, &small())
        );
    }
}

#[test]
fn the_chances() {
    let picture = of(Drawing::Bars(chances()));
    for format in ["svg", "text", "csv", "json"] {
        insta::assert_snapshot!(
            format!("the_chances_{format}"),
            written(format, &picture, &small())
        );
    }
}

#[test]
fn the_medians() {
    let picture = of(Drawing::Bars(medians()));
    let look = PictureLook { terminal_columns: Some(40), ..small() };
    insta::assert_snapshot!(written("svg", &picture, &look));
    insta::assert_snapshot!(written("text", &picture, &look));
}

#[test]
fn the_days() {
    let picture = of(Drawing::Bars(days()));
    insta::assert_snapshot!(written("svg", &picture, &small()));
}

#[test]
fn the_curves() {
    let picture = of(Drawing::Curves(curves()));
    let look = PictureLook { terminal_columns: Some(80), ..small() };
    for format in ["svg", "text", "csv", "json"] {
        insta::assert_snapshot!(format!("the_curves_{format}"), written(format, &picture, &look));
    }
}

#[test]
fn nothing_is_a_message_and_all_is_drawn_in_every_format_and_theme() {
    let no_bars = Bars { groups: Vec::new(), ..stacks() };
    let no_days = Bars { is_sequence: true, ..no_bars.clone() };
    let no_curves = Curves { curves: Vec::new(), ..curves() };
    let bars = [stacks(), chances(), medians(), days(), no_bars, no_days].map(Drawing::Bars);
    let pictures = bars.into_iter().chain([curves(), no_curves].map(Drawing::Curves)).map(of);
    for (index, picture) in pictures.enumerate() {
        for theme in THEMES {
            for terminal_colors in [TerminalColors::None, TerminalColors::True] {
                let look = PictureLook { theme, terminal_colors, ..small() };
                for format in PICTURE_FORMATS {
                    let bytes = format.render(&picture, &look).unwrap();
                    assert!(!bytes.is_empty(), "{}", format.name());
                }
            }
        }
        let is_nothing = written("svg", &picture, &small()).contains("Nothing to show");
        assert_eq!(is_nothing, [4, 5, 7].contains(&index), "picture {index}");
    }
}

/// The numbers of an element's shape.
fn numbers(shape: &str) -> Vec<f64> {
    let numbers = shape.split(|letter: char| !(letter.is_ascii_digit() || letter == '.'));
    numbers.filter_map(|number| number.parse().ok()).collect()
}

#[test]
fn a_band_lies_around_its_curve_and_ends_where_it_is_not_known() {
    let svg = written("svg", &of(Drawing::Curves(curves())), &small());
    let shape = |class: &str| {
        let after = svg.split(&format!("class=\"{class}\" d=\"")).nth(1).unwrap();
        after.split('"').next().unwrap()
    };
    assert_eq!(svg.matches("class=\"band\"").count(), 1);
    assert!(!shape("curve").contains('L'), "a curve is level until the next step");
    let (band, curve) = (numbers(shape("band")), numbers(shape("curve")));
    // Two steps with a band: above and back below. The axis goes from 0 to 100.
    let [x0, top, x1, upper, x2, back2, lower, back1, low, back0] = band[..] else {
        panic!("{band:?}")
    };
    assert_eq!((x0, x1, x2), (back0, back1, back2));
    let [curve_x0, ninety, curve_x1, half, curve_x2, fifth, end] = curve[..] else {
        panic!("{curve:?}")
    };
    assert_eq!((x0, x1, x2, x2), (curve_x0, curve_x1, curve_x2, end));
    let percent = (fifth - top) / 80.0;
    let is_near = |one: f64, other: f64| (one - other).abs() < 0.02;
    assert!(is_near(ninety, top + 10.0 * percent) && is_near(half, top + 50.0 * percent));
    assert!(is_near(upper, top + 40.0 * percent) && is_near(lower, top + 60.0 * percent));
    assert!(is_near(low, top + 20.0 * percent));
    // From a quarter of an hour to one is as far as from one to four.
    assert!(is_near(x1 - x0, x2 - x1));
}

#[test]
fn a_curve_with_more_steps_than_the_picture_has_room_for_is_drawn_with_its_last_values() {
    let point = |second: u32| Point {
        at_seconds: f64::from(second),
        value: 100.0 - f64::from(second) / 1000.0,
        band: None,
    };
    let curve = |points| Curve { name: "A100".into(), kind: Kind::Ranked(0), points };
    let drawn = |points| {
        let curves = Curves { curves: vec![curve(points)], ..curves() };
        let svg = written("svg", &of(Drawing::Curves(curves)), &small());
        let after = svg.split("class=\"curve\" d=\"").nth(1).unwrap();
        after.split('"').next().unwrap().to_owned()
    };
    let many = drawn((0..=50_000).map(point).collect());
    assert!(many.len() < 40_000, "{} bytes", many.len());
    let last = |shape: &str| numbers(shape).into_iter().rev().nth(1).unwrap();
    assert_eq!(last(&many), last(&drawn(vec![point(0), point(50_000)])));
}

#[test]
fn the_pixels_of_a_band_are_between_its_colour_and_the_paper() {
    let picture = of(Drawing::Curves(curves()));
    let svg = written("svg", &picture, &small());
    let after = svg.split("class=\"band\" d=\"").nth(1).unwrap();
    let band = numbers(after.split('"').next().unwrap());
    let pixels = drawn(&picture, &small());
    let color = small().theme.fill(Kind::Ranked(0)).color;
    // Just within the lower edge of the second step, beside the line of the second hour in the middle.
    let (x, y) = ((band[2] + band[4]) / 2.0 + 7.0, band[6] - 3.0);
    let seen = pixel(&pixels, x, y);
    let mixed = |part: u8| (f64::from(part) * 0.15 + 255.0 * 0.85).round() as u8;
    let expected = Color(mixed(color.0), mixed(color.1), mixed(color.2));
    let near = |one: u8, other: u8| one.abs_diff(other) <= 1;
    let is_near = near(seen.0, expected.0) && near(seen.1, expected.1) && near(seen.2, expected.2);
    assert!(is_near, "{seen:?} is not {expected:?}");
    assert_eq!(pixel(&pixels, x, y + 14.0), small().theme.paper);
}

#[test]
fn stacked_parts_lie_end_to_end_and_one_without_a_part_is_not_drawn() {
    let svg = written("svg", &of(Drawing::Bars(stacks())), &small());
    let theme = small().theme;
    let rects = |kind: Kind| -> Vec<Vec<f64>> {
        let fill = format!("fill=\"{}\"></rect>", theme.fill(kind).color);
        let lines = svg.lines().filter(|line| line.contains(&fill));
        lines.map(|line| numbers(&line.replace("x=", " ")).into_iter().take(4).collect()).collect()
    };
    let (good, bad) = (rects(Kind::Ranked(2)), rects(Kind::Ranked(4)));
    assert_eq!((good.len(), bad.len()), (2, 2));
    // 6 and 2 hours: the second begins where the first ends, and is a third of it.
    assert!((good[0][0] + good[0][2] - bad[0][0]).abs() < 0.02, "{good:?} {bad:?}");
    assert!((good[0][2] / 3.0 - bad[0][2]).abs() < 0.02, "{good:?} {bad:?}");
    assert_eq!(svg.matches(">not known</text>").count(), 1);
}

#[test]
fn what_is_pointed_at_says_what_it_is() {
    let page = written("html", &of(Drawing::Bars(stacks())), &small());
    assert!(page.contains("<title>A100\nbadput: 2.0</title>"));
    let page = written("html", &of(Drawing::Curves(curves())), &small());
    assert!(page.contains("<title>A100, 1 h: 50.0 (40.0 to 60.0)</title>"));
}

#[test]
fn a_terminal_has_no_longer_lines_than_columns() {
    let drawings = [stacks(), chances(), medians(), days()].map(Drawing::Bars);
    for drawing in drawings.into_iter().chain([Drawing::Curves(curves())]) {
        let look = PictureLook { terminal_columns: Some(80), ..small() };
        let text = written("text", &of(drawing), &look);
        let body = text.split_once("\n\n").unwrap().1.split("\nPeriod:").next().unwrap();
        for line in body.lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
}
