//! Small pictures in every format, and what pixels they have where.

mod of_reports;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use report::{
    Amount, Amounts, Axis, Bars, Bin, Category, Cell, Cells, ClusterCoverage, Columns, Coverage,
    Curve, Curves, Dot, Drawing, Grid, GridRow, Group, Histogram, Kind, Layout, NewestData, Part,
    Period, Picture, Point, Scatter, Series, SkippedFile, Unit,
};
use resvg::tiny_skia::Pixmap;
use resvg::usvg;

use super::*;
use crate::theme::{Color, Hatch};

const KINDS: [(&str, Kind); 12] = [
    ("busy prioritized", Kind::BusyPrioritized),
    ("busy open capacity", Kind::BusyOpenCapacity),
    ("busy backfill", Kind::BusyBackfill),
    ("idle prioritized", Kind::IdlePrioritized),
    ("idle open capacity", Kind::IdleOpenCapacity),
    ("drained", Kind::Drained),
    ("prevented", Kind::Prevented),
    ("N/A", Kind::Unobserved),
    ("draining", Kind::Draining),
    ("down", Kind::Down),
    ("maintenance", Kind::Maintenance),
    ("rebooting", Kind::Rebooting),
];

/// Hours from six in the evening in Chicago, over the night in which clocks go back.
fn hours(count: i64) -> Vec<Timestamp> {
    let start: Timestamp = "2026-10-31T23:00:00Z".parse().unwrap();
    (0..=count).map(|hour| start + jiff::SignedDuration::from_hours(hour)).collect()
}

fn categories(percent: Option<f64>) -> Vec<Category> {
    let category = |(name, kind): (&str, Kind)| Category { name: name.into(), kind, percent };
    KINDS.map(category).into()
}

fn gpu(machine: &str, id: &str) -> GridRow {
    GridRow {
        group: machine.into(),
        label: id.into(),
        cluster: Some("birch".into()),
        machine: Some(machine.into()),
        gpu_id: Some(id.into()),
        device: Some("NVIDIA A100".into()),
        class: Some("Shared".into()),
        gpus: Some(1),
    }
}

fn picture(drawing: Drawing, hours: i64) -> Picture {
    let edges = self::hours(hours);
    Picture {
        name: "heatmap".into(),
        title: "GPUs <over> time & \"more\"".into(),
        subtitle: "3 GPUs on 2 machines, a column is 1 hour".into(),
        period: Period {
            start: edges[0],
            end: edges[edges.len() - 1],
            zone: TimeZone::get("America/Chicago").unwrap(),
        },
        coverage: Coverage {
            clusters: vec![ClusterCoverage {
                cluster: "birch".into(),
                days_collected: 2,
                imported: Vec::new(),
                days: 2,
                fresh_time: Some(edges[edges.len() - 1]),
            }],
            skipped: Vec::new(),
            ends_at_newest: None,
        },
        drawing,
        notes: vec!["A column shows the state that held longest in it.".into()],
    }
}

/// A row of indexes of categories for each GPU, a digit of base 12 a column.
fn longest(rows: &[(GridRow, &str)]) -> Picture {
    let columns = rows.first().map_or(8, |(_, cells)| cells.len());
    let cell = |digit: char| Cell { category: digit.to_digit(12).unwrap() as u16, share: 0.75 };
    let grid = Grid {
        columns: Columns::Times(hours(columns as i64)),
        rows: rows.iter().map(|(row, _)| row.clone()).collect(),
        categories: categories(Some(12.5)),
        cells: Cells::Longest(rows.iter().flat_map(|(_, cells)| cells.chars().map(cell)).collect()),
    };
    picture(Drawing::Grid(grid), columns as i64)
}

fn three_gpus() -> Picture {
    longest(&[
        (gpu("node1", "GPU-0a"), "00011223"),
        (gpu("node1", "GPU-0b"), "44556677"),
        (gpu("node2", "GPU-1a"), "22222222"),
    ])
}

fn written(format: &str, picture: &Picture, look: &PictureLook) -> String {
    let format = picture_format_by_name(format).unwrap();
    String::from_utf8(format.render(picture, look).unwrap()).unwrap()
}

fn drawn(picture: &Picture, look: &PictureLook) -> Pixmap {
    let png = picture_format_by_name("png").unwrap().render(picture, look).unwrap();
    Pixmap::decode_png(&png).unwrap()
}

fn pixel(pixels: &Pixmap, x: f64, y: f64) -> Color {
    let pixel = pixels.pixel(x as u32, y as u32).unwrap();
    Color(pixel.red(), pixel.green(), pixel.blue())
}

/// Small, so that tests are quick.
fn small() -> PictureLook {
    PictureLook { width_inches: 5.0, dots_per_inch: 96.0, ..PictureLook::default() }
}

/// The places of the cells that the drawing has, by category, as left, top, width and height in
/// units; of each category the first.
fn places(picture: &Picture, look: &PictureLook) -> Vec<[f64; 4]> {
    let svg = written("svg", picture, look);
    let shapes = svg.split("shape-rendering=\"crispEdges\" d=\"M").skip(1);
    let numbers = |shape: &str| -> [f64; 4] {
        let rect = shape.split(['z', '"']).next().unwrap();
        let numbers: Vec<f64> =
            rect.split(['h', 'v', ' ']).take(4).map(|number| number.parse().unwrap()).collect();
        numbers.try_into().unwrap()
    };
    shapes.map(numbers).collect()
}

#[test]
fn every_picture_says_that_the_newest_data_is_old() {
    let mut picture = three_gpus();
    let now = "2027-10-31T23:00:00Z".parse().unwrap();
    picture.coverage.ends_at_newest = NewestData::if_old(picture.period.end, now);
    for format in ["text", "svg", "html"] {
        let written = written(format, &picture, &PictureLook::default());
        assert!(written.contains("The newest data is from 2026-1"), "{format}: {written}");
    }
    let json = written("json", &picture, &PictureLook::default());
    assert!(json.contains("\"ends_at_newest_data\":{"), "{json}");
}

#[test]
fn the_svg() {
    insta::assert_snapshot!(written("svg", &three_gpus(), &small()));
}

#[test]
fn the_page() {
    insta::assert_snapshot!(written("html", &three_gpus(), &small()));
}

#[test]
fn the_letters() {
    insta::assert_snapshot!(written("text", &three_gpus(), &small()));
}

#[test]
fn the_letters_on_a_narrow_terminal() {
    let look = PictureLook { terminal_columns: Some(18), ..small() };
    insta::assert_snapshot!(written("text", &three_gpus(), &look));
}

#[test]
fn the_numbers_for_programs() {
    insta::assert_snapshot!(written("json", &three_gpus(), &small()));
    insta::assert_snapshot!(written("csv", &three_gpus(), &small()));
}

/// Twelve hours in which a GPU is in each state once: every cell has its state's colour in the
/// middle, at any resolution, and hatched ones have both of theirs.
#[test]
fn every_state_has_its_colour_in_every_theme() {
    let picture = longest(&[(gpu("node1", "GPU-0a"), "0123456789ab")]);
    for theme in THEMES {
        for dots_per_inch in [96.0, 150.0] {
            let look = PictureLook { theme, dots_per_inch, ..small() };
            let (pixels, scale) = (drawn(&picture, &look), dots_per_inch / 96.0);
            let places = places(&picture, &look);
            assert_eq!(places.len(), KINDS.len());
            for ((name, kind), [left, top, width, height]) in KINDS.into_iter().zip(places) {
                let fill = theme.fill(kind);
                let mut seen = Vec::new();
                for x in 2..(width * scale) as u32 - 2 {
                    for y in 2..(height * scale) as u32 - 2 {
                        let (x, y) = (left * scale + f64::from(x), top * scale + f64::from(y));
                        seen.push(pixel(&pixels, x, y));
                    }
                }
                match fill.hatch {
                    None => assert!(seen.iter().all(|color| *color == fill.color), "{name}"),
                    Some(Hatch::Rising(line) | Hatch::Falling(line)) => {
                        // Lines are as thin as a pixel, and so mix with what lies beside them.
                        let between = |part: fn(Color) -> u8| {
                            let (one, two) = (part(fill.color), part(line));
                            seen.iter()
                                .all(|color| (one.min(two)..=one.max(two)).contains(&part(*color)))
                        };
                        assert!(between(|c| c.0) && between(|c| c.1) && between(|c| c.2), "{name}");
                        let plain = seen.iter().filter(|color| **color == fill.color).count();
                        assert!(plain < seen.len(), "{name} has no lines in {}", theme.name);
                        let dark = seen.iter().filter(|c| c.0.abs_diff(fill.color.0) > 20);
                        assert!(dark.count() * 10 > seen.len(), "{name} in {}", theme.name);
                    }
                }
            }
        }
    }
}

#[test]
fn cells_lie_side_by_side_in_the_order_of_time() {
    let places = places(&longest(&[(gpu("node1", "GPU-0a"), "01234567")]), &small());
    for pair in places.windows(2) {
        let ([left, top, width, _], [next, next_top, ..]) = (pair[0], pair[1]);
        assert!((left + width - next).abs() < 0.02 && top == next_top, "{pair:?}");
    }
    // 480 units, of which the margin is 16 on each side.
    let [left, _, width, _] = places[7];
    assert!((left + width - 464.0).abs() < 0.02);
}

#[test]
fn a_row_of_several_gpus_shows_all_their_states() {
    // A quarter busy at the bottom, three quarters idle above; then all idle.
    let mut parts = [0.0; 2 * KINDS.len()];
    (parts[0], parts[3], parts[KINDS.len() + 3]) = (0.25, 0.75, 1.0);
    let grid = Grid {
        columns: Columns::Times(hours(2)),
        rows: vec![GridRow { label: "node1".into(), gpus: Some(4), ..GridRow::default() }],
        categories: categories(None),
        cells: Cells::Parts(parts.into()),
    };
    let picture = picture(Drawing::Grid(grid), 2);
    let pixels = drawn(&picture, &small());
    let svg = written("svg", &picture, &small());
    // The one on top is drawn first, from the ground: `M left bottom`, `V top`.
    let shape = svg.split("d=\"M").find(|shape| shape.contains("H464")).unwrap();
    let mut numbers = shape.split([' ', 'H', 'V']);
    let mut number = || numbers.next().unwrap().parse::<f64>().unwrap();
    let (left, bottom, _, top) = (number(), number(), number(), number());
    let at = |part: f64, x: f64| pixel(&pixels, left + x, bottom - (bottom - top) * part);
    let color = |kind| small().theme.fill(kind).color;
    assert_eq!(at(0.12, 9.0), color(Kind::BusyPrioritized));
    assert_eq!(at(0.40, 9.0), color(Kind::IdlePrioritized));
    assert_eq!(at(0.95, 9.0), color(Kind::IdlePrioritized));
    assert_eq!(at(0.12, (464.0 - left) * 0.75), color(Kind::IdlePrioritized));
}

/// Runs a picture of so many rows through every format, and gives the SVG.
fn check_rows(rows: usize) -> String {
    let row = |index: usize| (gpu(&format!("node{}", index / 8), &format!("GPU-{index}")), "0123");
    let picture = longest(&(0..rows).map(row).collect::<Vec<_>>());
    let look = PictureLook { dots_per_inch: 40.0, terminal_columns: Some(80), ..small() };
    for format in PICTURE_FORMATS {
        assert!(!format.render(&picture, &look).unwrap().is_empty());
    }
    for colors in [TerminalColors::Indexed256, TerminalColors::True] {
        let text = written("text", &picture, &PictureLook { terminal_colors: colors, ..look });
        assert!(text.contains("\x1b["));
    }
    written("svg", &picture, &look)
}

#[test]
fn no_row_is_a_message_and_one_row_is_a_picture() {
    assert!(check_rows(0).contains("Nothing to show"));
    assert!(check_rows(1).contains(">GPU-0</text>"));
}

#[test]
fn thousands_of_rows_are_thin_and_labelled_by_machine() {
    let svg = check_rows(3000);
    assert!(!svg.contains(">GPU-0</text>"));
    let labels = svg.matches(">node").count();
    assert!((100..=375).contains(&labels), "{labels} of 375 machines");
    // A shape a cell and no more: 12,000 cells, a path a category.
    assert_eq!(svg.matches("<path shape-rendering").count(), 4);
    assert!(svg.len() < 500_000, "{} bytes", svg.len());
}

/// The texts of a PNG, and the characters in it that are empty boxes.
fn letters_of_png(picture: &Picture) -> (Vec<String>, Vec<String>) {
    fn collect(group: &usvg::Group, texts: &mut Vec<String>, boxes: &mut Vec<String>) {
        for node in group.children() {
            match node {
                usvg::Node::Group(group) => collect(group, texts, boxes),
                usvg::Node::Text(text) => {
                    texts.push(text.chunks().iter().map(|chunk| chunk.text()).collect());
                    let glyphs = text.layouted().iter().flat_map(|span| &span.positioned_glyphs);
                    let boxed = glyphs.filter(|glyph| glyph.id.0 == 0);
                    boxes.extend(boxed.map(|glyph| glyph.text.clone()));
                }
                _ => {}
            }
        }
    }
    let wide = PictureLook { width_inches: 20.0, ..small() };
    let (mut texts, mut boxes) = (Vec::new(), Vec::new());
    collect(png::tree(picture, &wide).root(), &mut texts, &mut boxes);
    (texts, boxes)
}

#[test]
fn names_of_any_script_are_drawn_or_spelled_out() {
    for (name, drawn) in [
        ("node-1", "node-1"),
        ("узел7", "узел7"),
        ("Ωmega", "Ωmega"),
        ("größe", "größe"),
        ("e\u{301}", "e\u{301}"),
        ("x\u{301}y", "x<U+0301>y"),
        ("ネコ-1", "<U+30CD><U+30B3>-1"),
        ("حاسوب", "<U+062D><U+0627><U+0633><U+0648><U+0628>"),
        ("🦀", "<U+1F980>"),
        ("a\u{0}\u{1b}[31m\u{ffff}</svg>", "a<U+0000><U+001B>[31m<U+FFFF></svg>"),
    ] {
        let picture = longest(&[(gpu(name, name), "00")]);
        for format in PICTURE_FORMATS {
            assert!(!format.render(&picture, &small()).unwrap().is_empty());
        }
        let (texts, boxes) = letters_of_png(&picture);
        assert_eq!(boxes, [""; 0], "{name}");
        assert_eq!(texts.iter().filter(|text| *text == drawn).count(), 2, "{name}: {texts:?}");
        // A reader of SVG has fonts of its own.
        assert!(!written("svg", &picture, &small()).contains("U+"), "{name}");
    }
}

/// Whatever a picture writes out, of every kind.
#[test]
fn no_kind_of_picture_has_a_letter_that_is_an_empty_box() {
    let name = || "ネコ".to_owned();
    let kind = Kind::Ranked(0);
    let amount = Amount { value: Some(1.0), band: None };
    let bars = |is_sequence| {
        Drawing::Bars(Bars {
            label_heading: name(),
            heading: name(),
            unit: Unit::Hours,
            is_sequence,
            layout: Layout::Stacked,
            parts: vec![Part { name: name(), kind }],
            groups: vec![Group { label: name(), amounts: vec![amount] }],
        })
    };
    let axis = || Axis { heading: name(), unit: Unit::Hours };
    let mut drawings = vec![
        Drawing::Grid(Grid {
            columns: Columns::Labels(vec![name()]),
            rows: vec![gpu(&name(), &name())],
            categories: vec![Category { name: name(), kind, percent: None }],
            cells: Cells::Longest(vec![Cell { category: 0, share: 1.0 }]),
        }),
        Drawing::Series(Series {
            edges: hours(2),
            partial: vec![false; 2],
            heading: name(),
            unit: Unit::Count,
            stacked: vec![Amounts { name: name(), kind, values: vec![Some(1.0); 2], mean: None }],
            lines: vec![Amounts { name: name(), kind, values: vec![Some(2.0); 2], mean: None }],
        }),
        Drawing::Histogram(Histogram {
            heading: name(),
            count_heading: name(),
            count_unit: Unit::Count,
            bins: vec![Bin { label: name(), count: 1.0 }],
        }),
        Drawing::Curves(Curves {
            at_heading: name(),
            heading: name(),
            unit: Unit::Percent,
            curves: vec![Curve {
                name: name(),
                kind,
                points: vec![Point { at_seconds: 60.0, value: 50.0, band: None }],
            }],
        }),
        Drawing::Scatter(Scatter {
            across: axis(),
            up: axis(),
            dots: vec![Dot { name: name(), across: 2.0, up: 1.0 }],
        }),
    ];
    drawings.extend([bars(true), bars(false)]);
    for drawing in drawings {
        let mut picture = picture(drawing, 2);
        (picture.title, picture.subtitle, picture.notes) = (name(), name(), vec![name()]);
        picture.coverage.clusters[0].cluster = name();
        let skipped = SkippedFile { path: name(), reason: name() };
        picture.coverage.skipped.push(skipped);
        let (texts, boxes) = letters_of_png(&picture);
        assert_eq!(boxes, [""; 0], "{texts:?}");
        assert!(texts.iter().any(|text| text.contains("<U+30CD><U+30B3>")), "{texts:?}");
    }
}

#[test]
fn a_page_loads_nothing_and_its_cells_speak() {
    let page = written("html", &three_gpus(), &small());
    let addresses = page.matches("http").count();
    let namespaces = page.matches("xmlns=\"http://www.w3.org/2000/svg\"").count();
    assert_eq!(addresses, namespaces + 1); // and http-equiv
    assert!(page.contains(
        "<title>GPU GPU-0a\nnode1 (birch)\nNVIDIA A100\nShared\n\
         2026-10-31 18:00 to 21:00 CDT\nbusy prioritized</title>"
    ));
    assert!(page.contains("data-runs=\"0*3 1*2 2*2 3*1\""));
}

#[test]
fn cells_of_very_many_runs_are_pixels_and_their_rows_still_speak() {
    let cells = "01".repeat(150);
    let row = |index: usize| (gpu("node", &format!("GPU-{index}")), cells.as_str());
    let picture = longest(&(0..100).map(row).collect::<Vec<_>>());
    let page = written("html", &picture, &small());
    // The picture's, the page's, and the machine's, whose GPUs have names.
    assert_eq!(page.matches("<title>").count(), 3);
    assert_eq!(page.matches("data-name=\"GPU GPU-").count(), 100);
    assert_eq!(page.matches("<image class=\"cells ").count(), 2);
    assert!(page.len() < 60_000, "{} bytes", page.len());
}

#[test]
fn a_terminal_of_many_colours_has_two_cells_a_character() {
    let look = PictureLook { terminal_colors: TerminalColors::True, ..small() };
    let text = written("text", &longest(&[(gpu("n", "g"), "001")]), &look);
    // #44ff44 on #44ff44, then #00cc99 on nothing.
    assert!(text.contains(
        "n g \x1b[38;2;68;255;68m\x1b[48;2;68;255;68m▌\x1b[0m\x1b[38;2;0;204;153m▌\x1b[0m\n"
    ));
}

#[test]
fn a_picture_is_as_large_as_asked_for_and_says_so() {
    let look = PictureLook {
        width_inches: 4.0,
        height_inches: Some(3.0),
        dots_per_inch: 100.0,
        ..PictureLook::default()
    };
    let png = picture_format_by_name("png").unwrap().render(&three_gpus(), &look).unwrap();
    let reader = ::png::Decoder::new(std::io::Cursor::new(png)).read_info().unwrap();
    let info = reader.info();
    assert_eq!((info.width, info.height), (400, 300));
    // 100 dots an inch are 100 / 0.0254 = 3937.0 a metre.
    assert_eq!(info.pixel_dims.unwrap().xppu, 3937);
}

#[test]
fn a_picture_that_is_too_large_is_refused() {
    let look = PictureLook { width_inches: 500.0, ..PictureLook::default() };
    let refused = picture_format_by_name("png").unwrap().render(&three_gpus(), &look).unwrap_err();
    assert_eq!(refused.width_pixels, 150_000);
    assert!(refused.to_string().contains("150000 by"));
}

fn series() -> Picture {
    let amounts = |name: &str, kind, values: [Option<f64>; 4], mean| Amounts {
        name: name.into(),
        kind,
        values: values.into(),
        mean: Some(mean),
    };
    let (unknown, some) = (None, Some);
    picture(
        Drawing::Series(Series {
            edges: hours(4),
            partial: vec![false, false, false, true],
            heading: "GPUs".into(),
            unit: Unit::Average,
            stacked: vec![
                amounts("ann", Kind::Ranked(0), [some(2.0), some(4.0), unknown, some(0.0)], 3.0),
                amounts("others", Kind::Rest, [some(2.0), some(0.0), unknown, some(4.0)], 1.0),
            ],
            lines: vec![amounts(
                "capacity",
                Kind::Capacity,
                [some(8.0), some(8.0), unknown, some(6.0)],
                8.0,
            )],
        }),
        4,
    )
}

#[test]
fn the_series() {
    insta::assert_snapshot!(written("svg", &series(), &small()));
    insta::assert_snapshot!(written("text", &series(), &small()));
    insta::assert_snapshot!(written("csv", &series(), &small()));
    insta::assert_snapshot!(written("json", &series(), &small()));
}

fn histogram() -> Picture {
    let bin = |label: &str, count| Bin { label: label.into(), count };
    picture(
        Drawing::Histogram(Histogram {
            heading: "Idle time".into(),
            count_heading: "Periods".into(),
            count_unit: Unit::Count,
            bins: vec![bin("under 1 h", 12.0), bin("1 to 2 h", 3.0), bin("2 h and more", 0.0)],
        }),
        4,
    )
}

#[test]
fn the_histogram() {
    insta::assert_snapshot!(written("svg", &histogram(), &small()));
    insta::assert_snapshot!(written("text", &histogram(), &small()));
    insta::assert_snapshot!(written("csv", &histogram(), &small()));
}

fn week() -> Picture {
    let day = |label: &str| GridRow { label: label.into(), ..GridRow::default() };
    picture(
        Drawing::Grid(Grid {
            columns: Columns::Labels(["00", "01", "02"].map(str::to_owned).into()),
            rows: vec![day("Mon"), day("Tue")],
            categories: Vec::new(),
            cells: Cells::Numbers {
                values: vec![Some(0.0), Some(4.0), Some(8.0), None, Some(2.0), Some(6.0)],
                unit: Unit::Plain,
            },
        }),
        4,
    )
}

#[test]
fn the_week() {
    insta::assert_snapshot!(written("svg", &week(), &small()));
    insta::assert_snapshot!(written("text", &week(), &small()));
    insta::assert_snapshot!(written("json", &week(), &small()));
}

#[test]
fn every_picture_can_be_drawn_in_every_format_and_theme() {
    for theme in THEMES {
        for picture in [three_gpus(), series(), histogram(), week()] {
            for format in PICTURE_FORMATS {
                let look = PictureLook { theme, ..small() };
                assert!(!format.render(&picture, &look).unwrap().is_empty(), "{}", format.name());
            }
        }
    }
}

#[test]
fn a_format_is_known_by_name_and_by_ending() {
    for format in PICTURE_FORMATS {
        assert!(picture_format_by_name(format.name()).is_some());
        for ending in format.extensions() {
            let path = format!("gpus.{}", ending.to_uppercase());
            let found = picture_format_by_extension(Path::new(&path)).unwrap();
            assert_eq!(found.name(), format.name());
        }
    }
    assert!(picture_format_by_extension(Path::new("gpus")).is_none());
}
