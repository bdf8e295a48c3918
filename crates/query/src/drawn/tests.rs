//! Small tables, and what is drawn of them.

use jiff::tz::TimeZone;
use report::{
    Amount, Band, Bars, Cells, Column, Columns, Coverage, Curves, Drawing, Grid, Layout, Period,
    Point,
};

use super::bars::MOST_BARS;
use super::curves::MOST_CURVES;
use super::*;

fn question(options: &[(&str, &str)]) -> Question {
    let at = |text: &str| text.parse().unwrap();
    let period = Period {
        start: at("2026-03-01T00:00:00Z"),
        end: at("2026-03-08T00:00:00Z"),
        zone: TimeZone::UTC,
    };
    let said = options.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    Question { options: said.collect(), ..Question::about(period) }
}

/// The picture of a table with some columns of an analysis. In a row's cells, numbers are numbers
/// and a dash is unknown.
fn drawn(name: &str, options: &[(&str, &str)], columns: &str, rows: &[&str]) -> Picture {
    let analysis = crate::analysis(name).unwrap();
    let column = |name: &str| {
        let known = analysis.columns.iter().find(|column| column.name == name).unwrap();
        Column { name: name.to_owned(), heading: known.heading.to_owned(), unit: known.unit }
    };
    let columns: Vec<Column> = columns.split_whitespace().map(column).collect();
    let cell = |(text, column): (&str, &Column)| match text.parse() {
        _ if text == "-" => Value::Unknown,
        Ok(number) if column.unit.is_numeric() => Value::Number(number),
        _ => Value::Text(text.to_owned()),
    };
    let row = |row: &&str| row.split_whitespace().zip(&columns).map(cell).collect();
    let question = question(options);
    let report = Report {
        name: name.to_owned(),
        title: analysis.question.to_owned(),
        period: question.period.clone(),
        coverage: Coverage::default(),
        table: Table { rows: rows.iter().map(row).collect(), columns },
        charts: Vec::new(),
        notes: vec!["A note of the report.".to_owned()],
    };
    draw(analysis, &question, &report).unwrap()
}

fn bars(picture: &Picture) -> &Bars {
    match &picture.drawing {
        Drawing::Bars(bars) => bars,
        other => panic!("{other:?}"),
    }
}

/// A line a bar: its label and its amounts.
fn shown(picture: &Picture) -> Vec<String> {
    let amount = |amount: &Amount| {
        let value = amount.value.map_or("-".to_owned(), |value| value.to_string());
        let band = amount.band.map(|Band { lower, upper }| format!(" ({lower} to {upper})"));
        value + &band.unwrap_or_default()
    };
    let groups = bars(picture).groups.iter();
    groups
        .map(|group| {
            let amounts: Vec<String> = group.amounts.iter().map(amount).collect();
            format!("{}: {}", group.label, amounts.join(", "))
        })
        .collect()
}

#[test]
fn an_allocation_is_drawn_by_what_was_used_beside_the_time_that_is_over() {
    let picture = drawn(
        "allocations",
        &[],
        "allocation used_percent projected_percent elapsed_percent",
        &["ml 62.5 130 40", "bio 10 - 40"],
    );
    // What is not foretold has no bar, rather than one of no length.
    assert_eq!(shown(&picture), ["ml: 62.5, 130, 40", "bio: 10, -, 40"]);
    assert_eq!(bars(&picture).layout, Layout::Beside);
    assert_eq!(picture.subtitle, "% of the allocation, by allocation");
}

const EVICTIONS: &str = "by goodput_hours badput_hours other_hours";

#[test]
fn parts_that_add_up_are_stacked_without_their_sum() {
    let picture = drawn("evictions", &[], EVICTIONS, &["all 5 3 1", "A100 4 1 1", "- 1 2 -"]);
    assert_eq!(shown(&picture), ["A100: 4, 1, 1", "unknown: 1, 2, -"]);
    let bars = bars(&picture);
    assert_eq!((bars.layout, bars.is_sequence), (Layout::Stacked, false));
    assert_eq!(bars.parts[1].name, "evicted (badput)");
    assert_eq!(
        (picture.title.as_str(), bars.unit),
        ("How are jobs on backfill evicted?", Unit::Hours)
    );
    assert_eq!(picture.notes, ["A note of the report."]);
}

#[test]
fn hours_and_days_go_from_left_to_right_and_a_day_that_is_missing_has_its_place() {
    let picture = drawn("evictions", &[("by", "hour")], EVICTIONS, &["all 1 2 3", "07 1 2 3"]);
    assert!(bars(&picture).is_sequence);
    assert_eq!(shown(&picture), ["07: 1, 2, 3"]);
    let days = ["all 3 2", "2026-02-28 1 1", "2026-03-02 2 1"];
    let picture = drawn("backfill-summary", &[("by", "day")], "by used_hours open_hours", &days);
    assert_eq!(shown(&picture), ["2026-02-28: 1, 1", "2026-03-01: -, -", "2026-03-02: 2, 1"]);
}

#[test]
fn lengths_are_compared_with_that_of_all() {
    let rows = ["all 60 50", "A100 - 40"];
    let picture = drawn("backfill-availability", &[], "by estimated_median median", &rows);
    assert_eq!(shown(&picture), ["all: 60, 50", "A100: -, 40"]);
    assert_eq!(bars(&picture).layout, Layout::Beside);
}

#[test]
fn a_chance_has_its_band_and_its_job_is_told() {
    let options = [("runtime", "2h"), ("device", "A*")];
    let rows = ["all 80 70 90", "A100 - - -"];
    let picture = drawn("backfill-advice", &options, "by chance lower upper", &rows);
    assert_eq!(shown(&picture), ["all: 80 (70 to 90)", "A100: -"]);
    assert_eq!(
        picture.subtitle,
        "Chance % of no eviction before the job is done, by model, runtime 2h, gpus 1, \
         checkpoint cost 5m, device A*"
    );
}

#[test]
fn the_largest_are_shown_and_the_others_are_told_together() {
    // 1 to 27 hours, the smallest first: the 24 largest are 4 to 27, and 1 + 2 + 3 = 6.
    let rows: Vec<String> = (1..=MOST_BARS + 3).map(|hours| format!("u{hours} {hours}")).collect();
    let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
    let picture = drawn("usage-by-user", &[], "user cpu_hours", &rows);
    let shown = shown(&picture);
    assert_eq!((shown[0].as_str(), shown.len()), ("u4: 4", MOST_BARS));
    assert_eq!(
        picture.notes[0],
        "The 24 largest of 27 rows of usage-by-user; the 3 others have 6.0 CPU hours together."
    );
}

#[test]
fn medians_cannot_be_added_up_so_the_first_are_shown() {
    let rows: Vec<String> = (0..MOST_BARS + 3).map(|row| format!("m{row} 1 2")).collect();
    let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
    let columns = "by estimated_median median";
    let picture = drawn("backfill-opportunity", &[("by", "machine")], columns, &rows);
    assert_eq!(shown(&picture).len(), MOST_BARS);
    assert_eq!(picture.notes[0], "The first 24 of 27 rows of backfill-opportunity.");
}

#[test]
fn what_follows_what_is_a_grid_in_which_what_never_happened_is_zero() {
    let rows =
        ["A100 open taken 75", "A100 open owner 25", "A100 taken open 100", "H200 open odd 1"];
    let picture = drawn("backfill-transitions", &[], "by situation after share", &rows);
    let Drawing::Grid(Grid { columns, rows, cells, .. }) = &picture.drawing else {
        panic!("{:?}", picture.drawing)
    };
    let expected = [
        "open",
        "taken",
        "owner",
        "draining",
        "drained",
        "down",
        "maintenance",
        "rebooting",
        "gone",
        "unknown",
        "odd",
    ];
    assert_eq!(*columns, Columns::Labels(expected.map(str::to_owned).into()));
    let labels: Vec<(&str, &str)> =
        rows.iter().map(|row| (row.group.as_str(), row.label.as_str())).collect();
    assert_eq!(labels, [("A100", "open"), ("A100", "taken"), ("H200", "open")]);
    let Cells::Numbers { values, unit } = cells else { panic!("{cells:?}") };
    let mut expected = [[Some(0.0); 11]; 3];
    (expected[0][1], expected[0][2]) = (Some(75.0), Some(25.0));
    (expected[1][0], expected[2][10]) = (Some(100.0), Some(1.0));
    assert_eq!((values, *unit), (&expected.concat(), Unit::Percent));
}

fn curves(picture: &Picture) -> &Curves {
    match &picture.drawing {
        Drawing::Curves(curves) => curves,
        other => panic!("{other:?}"),
    }
}

const SURVIVAL: &str = "by at_seconds survival lower upper starts";

#[test]
fn a_curve_has_a_point_for_each_time_and_a_band_where_it_is_known() {
    let rows = ["A100 900 95 90 99 20", "A100 1800 80 - - 20", "H200 900 50 40 60 7"];
    let picture = drawn("backfill-survival", &[], SURVIVAL, &rows);
    let Curves { at_heading, curves, .. } = curves(&picture);
    assert_eq!(at_heading, "After");
    let names: Vec<&str> = curves.iter().map(|curve| curve.name.as_str()).collect();
    assert_eq!(names, ["A100", "H200"]);
    let band = Some(Band { lower: 90.0, upper: 99.0 });
    let first = Point { at_seconds: 900.0, value: 95.0, band };
    assert_eq!(curves[0].points, [first, Point { at_seconds: 1800.0, value: 80.0, band: None }]);
}

#[test]
fn of_many_curves_those_that_rest_on_most_are_shown() {
    let rows: Vec<String> =
        (0..MOST_CURVES + 2).map(|curve| format!("m{curve} 900 95 90 99 {curve}")).collect();
    let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
    let picture = drawn("backfill-survival", &[("by", "machine")], SURVIVAL, &rows);
    assert_eq!(
        (curves(&picture).curves[0].name.as_str(), curves(&picture).curves.len()),
        ("m2", 8)
    );
    assert_eq!(picture.notes[1], "The 8 of 10 curves with the most starts; the report has each.");
}

#[test]
fn no_chart_of_a_report_has_the_name_of_another() {
    let mut names: Vec<&str> = NamedChart::all().map(NamedChart::name).collect();
    let of = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), of);
}
