//! One awkward report in every format.

use jiff::tz::TimeZone;
use report::{
    BarChart, ClusterCoverage, Column, Coverage, NewestData, Period, Report, SkippedFile, Table,
    Unit, Value,
};

use super::*;

fn column(name: &str, heading: &str, unit: Unit) -> Column {
    Column { name: name.into(), heading: heading.into(), unit }
}

fn text(text: &str) -> Value {
    Value::Text(text.into())
}

/// Names that strangers chose, two columns of one name, and every kind of value.
pub(crate) fn awkward() -> Report {
    Report {
        name: "usage-by-user".into(),
        title: "Who used the <b>most</b> | and how well?".into(),
        period: Period {
            start: "2026-11-01T05:00:00Z".parse().unwrap(),
            end: "2026-11-15T06:00:00Z".parse().unwrap(),
            zone: TimeZone::get("America/Chicago").unwrap(),
        },
        coverage: Coverage {
            clusters: vec![
                ClusterCoverage {
                    cluster: "alder".into(),
                    days_collected: 14,
                    imported: Vec::new(),
                    days: 15,
                    fresh_time: Some("2026-11-15T06:00:00Z".parse().unwrap()),
                },
                ClusterCoverage {
                    cluster: "birch".into(),
                    days_collected: 0,
                    imported: Vec::new(),
                    days: 1,
                    fresh_time: None,
                },
            ],
            skipped: vec![SkippedFile {
                path: "job/cluster=alder/date=2026-11-03/part_1.parquet".into(),
                reason: "its footer is <damaged>\nor cut".into(),
            }],
            ends_at_newest: None,
        },
        table: Table {
            columns: vec![
                column("user", "User", Unit::Label),
                column("job_name", "Longest job", Unit::Label),
                column("cpu_hours", "CPU hours", Unit::Hours),
                column("user", "Jobs", Unit::Count),
                column("max_rss", "Memory", Unit::Bytes),
                column("last_end_time", "Last end", Unit::Time),
                column("day", "Day", Unit::Date),
                column("share", "Share", Unit::Plain),
                column("gpu", "GPU", Unit::Plain),
            ],
            rows: vec![
                vec![
                    text("ann"),
                    text("<script>alert(1)</script>"),
                    Value::Number(1234.56),
                    Value::Integer(1200),
                    Value::Integer(1536),
                    Value::Time("2026-11-14T18:30:00.5Z".parse().unwrap()),
                    Value::Date("2026-11-14".parse().unwrap()),
                    Value::Number(0.1),
                    Value::Boolean(true),
                ],
                vec![
                    text("größe,ü"),
                    text("a|b `c` \"d\"\n\x1b[2Je_f*\\"),
                    Value::Unknown,
                    Value::Integer(0),
                    Value::Unknown,
                    Value::Unknown,
                    Value::Unknown,
                    Value::Number(f64::NAN),
                    Value::Unknown,
                ],
                vec![
                    text("=1+1"),
                    text("学習 & 推論"),
                    Value::Number(1.0),
                    Value::Integer(-1),
                    Value::Integer(0),
                    Value::Time("2026-11-01T06:59:59Z".parse().unwrap()),
                    Value::Date("2026-11-01".parse().unwrap()),
                    Value::Number(2.5e-7),
                    Value::Boolean(false),
                ],
            ],
        },
        charts: Vec::new(),
        notes: vec!["hours of `evicted` attempts are counted".into()],
    }
}

fn rendered(report: &Report, format: &str, look: Look) -> String {
    let reports = std::slice::from_ref(report);
    String::from_utf8(by_name(format).unwrap().render(reports, &look)).unwrap()
}

fn plain(report: &Report, format: &str) -> String {
    rendered(report, format, Look::default())
}

/// An awkward report of a time that ends at the newest data.
fn old() -> Report {
    let mut report = awkward();
    let now = "2027-11-15T06:00:00Z".parse().unwrap();
    report.coverage.ends_at_newest = NewestData::if_old(report.period.end, now);
    report
}

#[test]
fn every_format_for_people_says_that_the_newest_data_is_old() {
    let line = "The newest data is from 2026-11-15 00:00 CST, 365 days before this report. The \
                period ends there.";
    for format in ["text", "html", "markdown"] {
        let (current, old) = (plain(&awkward(), format), plain(&old(), format));
        assert!(!current.contains("newest data"), "{format}: {current}");
        assert!(old.contains(line), "{format}: {old}");
    }
}

#[test]
fn the_text() {
    insta::assert_snapshot!(plain(&awkward(), "text"));
}

#[test]
fn the_text_for_a_narrow_terminal() {
    let look = Look { width: Some(110), color: false };
    let text = rendered(&awkward(), "text", look);
    insta::assert_snapshot!(text);
}

#[test]
fn the_csv() {
    insta::assert_snapshot!(plain(&awkward(), "csv"));
}

#[test]
fn the_json() {
    insta::assert_snapshot!(plain(&awkward(), "json"));
}

#[test]
fn the_markdown() {
    insta::assert_snapshot!(plain(&awkward(), "markdown"));
}

#[test]
fn the_html() {
    insta::assert_snapshot!(plain(&awkward(), "html"));
}

#[test]
fn an_empty_table_says_so_with_its_period() {
    let mut report = awkward();
    report.table.rows.clear();
    let said = "Nothing to show from 2026-11-01 00:00 CDT to 2026-11-15 00:00 CST.";
    for format in ["text", "markdown", "html"] {
        let bytes = plain(&report, format);
        assert!(bytes.contains(said), "{format}: {bytes}");
        assert!(!bytes.contains("CPU hours"), "{format} shows a bare header: {bytes}");
        assert!(bytes.contains("alder: 14 of 15 days collected"), "{format}: {bytes}");
    }
    assert_eq!(
        plain(&report, "csv"),
        "user,job_name,cpu_hours,user_2,max_rss,last_end_time,day,share,gpu\n"
    );
    assert!(plain(&report, "json").contains("\"rows\": [],"));
}

#[test]
fn a_report_of_no_cluster_warns() {
    let mut report = awkward();
    report.coverage = Coverage::default();
    assert!(plain(&report, "text").contains("warning: nothing was collected from any cluster\n"));
}

#[test]
fn text_has_no_trailing_blank_and_no_control_character() {
    let text = plain(&awkward(), "text");
    assert!(text.lines().all(|line| line == line.trim_end()), "{text}");
    assert!(!text.contains(|character: char| character.is_control() && character != '\n'));
}

#[test]
fn a_colored_text_is_the_plain_one_with_bold_head_and_yellow_warnings() {
    let text = rendered(&awkward(), "text", Look { width: None, color: true });
    let bold: Vec<&str> = text.lines().filter(|line| line.starts_with("\x1b[1m")).collect();
    assert_eq!(bold.len(), 2); // title and headings
    assert!(bold[1].starts_with("\x1b[1mUser") && bold[1].ends_with("GPU\x1b[0m"), "{bold:?}");
    assert!(text.contains("\x1b[33mwarning: job/cluster=alder"));
    let bare = text.replace("\x1b[1m", "").replace("\x1b[33m", "").replace("\x1b[0m", "");
    assert_eq!(bare, plain(&awkward(), "text"));
}

/// Of 1,234.56 CPU hours 50 columns are 24.7 h each: 500 h are 20.3, 800 h 32.4, and what is
/// there at all has one.
fn charted() -> Report {
    let mut report = awkward();
    let rows = [
        ("ann", Value::Number(1234.56)),
        ("größe,ü", Value::Unknown),
        ("a-name-longer-than-its-place", Value::Number(500.0)),
        ("学習の部屋の人の名前", Value::Number(800.0)),
        ("\x1b[2J██", Value::Number(0.5)),
        ("nobody", Value::Number(0.0)),
    ];
    report.table.columns =
        vec![column("user", "User", Unit::Label), column("cpu_hours", "CPU hours", Unit::Hours)];
    report.table.rows = rows.into_iter().map(|(name, hours)| vec![text(name), hours]).collect();
    report.charts = vec![
        BarChart::of_column(&report.table, "cpu_hours", 20).unwrap(),
        BarChart::of_column(&report.table, "cpu_hours", 2).unwrap(),
    ];
    report
}

#[test]
fn the_text_with_bars() {
    insta::assert_snapshot!(plain(&charted(), "text"));
}

/// Above two thirds of the largest red, above one third yellow, below green: 1,234.56 is the
/// largest, 800 is 65 % of it, 500 41 %.
#[test]
fn bars_are_colored_by_their_share_of_the_largest() {
    let text = rendered(&charted(), "text", Look { width: None, color: true });
    for (label, color) in [
        ("ann              ", "\x1b[31m"),
        ("学習の部屋の人…  ", "\x1b[33m"),
        ("a-name-longer-…  ", "\x1b[33m"),
        ("␛[2J██           ", "\x1b[32m"),
    ] {
        assert!(text.contains(&format!("\n{label}{color}█")), "{label}: {text}");
    }
    assert!(text.contains("\n\x1b[1mCPU hours\x1b[0m\n"));
    let bare = ["\x1b[0m", "\x1b[1m", "\x1b[31m", "\x1b[32m", "\x1b[33m"]
        .iter()
        .fold(text, |text, code| text.replace(code, ""));
    assert_eq!(bare, plain(&charted(), "text"));
}

#[test]
fn bars_shrink_with_the_terminal() {
    for width in 40..90 {
        let text = rendered(&charted(), "text", Look { width: Some(width), color: false });
        let bars: Vec<&str> =
            text.lines().filter(|line| line.starts_with("ann") && line.contains('█')).collect();
        assert_eq!(bars.len(), 2);
        assert!(bars.iter().all(|line| line.chars().count() <= width), "{width}: {bars:?}");
    }
}

#[test]
fn what_several_reports_share_is_said_once() {
    let other = Report { notes: vec!["another".into()], ..awkward() };
    let reports = [awkward(), other, awkward()];
    let text =
        String::from_utf8(by_name("text").unwrap().render(&reports, &Look::default())).unwrap();
    let place = |words: &str| {
        let places: Vec<usize> = text.match_indices(words).map(|(place, _)| place).collect();
        let [place] = places[..] else { panic!("{words} is at {places:?} in {text}") };
        place
    };
    assert!(place("note: hours of") < place("note: another"));
    assert!(place("note: another") < place("Period: "));
    assert!(place("Period: ") < place("alder: 14 of 15 days"));
    assert!(place("birch: ") < place("warning: job/cluster=alder"));
    assert!(!text.contains("\n\n\n"));
}

#[test]
fn only_text_has_bars() {
    let bare = Report { charts: Vec::new(), ..charted() };
    for format in FORMATS.iter().filter(|format| format.name() != "text") {
        assert_eq!(plain(&charted(), format.name()), plain(&bare, format.name()));
    }
}

/// Without the columns that cannot shrink, every width down to the narrowest names is kept.
#[test]
fn text_fits_every_terminal_that_has_room_for_its_numbers() {
    let mut report = awkward();
    report.table.columns.truncate(4);
    report.table.rows.iter_mut().for_each(|row| row.truncate(4));
    // 8 + 8 for names, 7 for 1,234.6, 5 for 1,200, and 3 gaps of 2 between the four.
    for width in 34..80 {
        let text = rendered(&report, "text", Look { width: Some(width), color: false });
        let table = text.split("\n\n").nth(1).unwrap();
        for line in table.lines() {
            // Four of the sample's characters take two columns each.
            let columns = line.chars().map(|c| if "学習推論".contains(c) { 2 } else { 1 });
            assert!(columns.sum::<usize>() <= width, "{width}: {table}");
        }
        assert!(table.contains("1,234.6"), "{width}: {table}");
    }
}

#[test]
fn a_cell_as_long_as_a_book_is_cut() {
    let mut report = awkward();
    report.table.rows[0][1] = text(&"x".repeat(100_000));
    let text = plain(&report, "text");
    assert!(text.contains(&format!("{}…", "x".repeat(999))));
    assert!(!text.contains(&"x".repeat(1000)));
}

/// The rows and cells of a CSV text, read by the letter of RFC 4180.
fn read_csv(text: &str) -> Vec<Vec<String>> {
    let mut rows = vec![vec![String::new()]];
    let mut quoted = false;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let row = rows.last_mut().unwrap();
        match character {
            '"' if quoted && characters.peek() == Some(&'"') => {
                row.last_mut().unwrap().extend(characters.next());
            }
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(String::new()),
            '\n' if !quoted => rows.push(vec![String::new()]),
            _ => row.last_mut().unwrap().push(character),
        }
    }
    assert_eq!(rows.pop(), Some(vec![String::new()]), "the last line ends");
    rows
}

#[test]
fn csv_reads_back_as_it_was() {
    let rows = read_csv(&plain(&awkward(), "csv"));
    assert_eq!(
        rows[0],
        [
            "user",
            "job_name",
            "cpu_hours",
            "user_2",
            "max_rss",
            "last_end_time",
            "day",
            "share",
            "gpu"
        ]
    );
    assert_eq!(
        rows[1],
        [
            "ann",
            "<script>alert(1)</script>",
            "1234.56",
            "1200",
            "1536",
            "2026-11-14T18:30:00.5Z",
            "2026-11-14",
            "0.1",
            "true"
        ]
    );
    assert_eq!(
        rows[2],
        ["größe,ü", "a|b `c` \"d\"\n\x1b[2Je_f*\\", "", "0", "", "", "", "NaN", ""]
    );
    assert_eq!(
        rows[3],
        [
            "=1+1",
            "学習 & 推論",
            "1.0",
            "-1",
            "0",
            "2026-11-01T06:59:59Z",
            "2026-11-01",
            "2.5e-7",
            "false"
        ]
    );
}

#[test]
fn a_csv_row_of_one_unknown_is_not_a_blank_line() {
    let mut report = awkward();
    report.table.columns.truncate(1);
    report.table.rows = vec![vec![Value::Unknown], vec![text("ann")]];
    assert_eq!(plain(&report, "csv"), "user\n\"\"\nann\n");
}

#[test]
fn json_reads_back_as_it_was() {
    let read: serde_json::Value = serde_json::from_str(&plain(&awkward(), "json")).unwrap();
    assert_eq!(read["report"], "usage-by-user");
    assert_eq!(
        read["period"],
        serde_json::json!({
            "start": "2026-11-01T05:00:00Z",
            "end": "2026-11-15T06:00:00Z",
            "zone": "America/Chicago",
        })
    );
    assert_eq!(
        read["coverage"]["clusters"][1],
        serde_json::json!({ "cluster": "birch", "days_collected": 0, "imported": [], "days": 1, "fresh_time": null })
    );
    assert_eq!(read["coverage"]["ends_at_newest_data"], serde_json::Value::Null);
    let old: serde_json::Value = serde_json::from_str(&plain(&old(), "json")).unwrap();
    assert_eq!(
        old["coverage"]["ends_at_newest_data"],
        serde_json::json!({ "time": "2026-11-15T06:00:00Z", "age_seconds": 365 * 86_400 })
    );
    assert_eq!(read["coverage"]["skipped"][0]["reason"], "its footer is <damaged>\nor cut");
    assert_eq!(
        read["columns"][2],
        serde_json::json!({ "name": "cpu_hours", "heading": "CPU hours", "unit": "h" })
    );
    assert_eq!(
        read["rows"][1],
        serde_json::json!({
            "user": "größe,ü",
            "job_name": "a|b `c` \"d\"\n\x1b[2Je_f*\\",
            "cpu_hours": null,
            "user_2": 0,
            "max_rss": null,
            "last_end_time": null,
            "day": null,
            "share": null,
            "gpu": null,
        })
    );
    assert_eq!(read["rows"][2]["share"], 2.5e-7);
    assert_eq!(read["rows"].as_array().unwrap().len(), 3);
    assert_eq!(read["notes"], serde_json::json!(["hours of `evicted` attempts are counted"]));
}

#[test]
fn html_lets_no_stranger_write_markup_and_loads_nothing() {
    let page = plain(&awkward(), "html");
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
    for forbidden in ["<script", "<b>", "\x1b", "http://", "https://", "url(", "@import", "src="] {
        assert!(!page.contains(forbidden), "{forbidden} in {page}");
    }
}

#[test]
fn formats_are_found_by_name_and_by_file() {
    for format in FORMATS {
        assert_eq!(by_name(format.name()).unwrap().name(), format.name());
        for extension in format.extensions() {
            let path = Path::new("a.csv.d").join(format!("report.{extension}"));
            assert_eq!(by_extension(&path).unwrap().name(), format.name());
        }
    }
    assert_eq!(by_extension(Path::new("REPORT.HTML")).unwrap().name(), "html");
    assert!(by_extension(Path::new("report")).is_none());
    assert!(by_name("xml").is_none());
}

#[test]
fn what_was_seen_at_a_moment_has_no_period_and_needs_no_collection() {
    let mut report = awkward();
    report.period.start = report.period.end;
    report.coverage = Coverage::default();
    report.notes.clear();
    let text = |report: &Report| {
        let format = by_name("text").unwrap();
        String::from_utf8(format.render(std::slice::from_ref(report), &Look::default())).unwrap()
    };
    let shown = text(&report);
    assert!(shown.ends_with("\n\nAs of 2026-11-15 00:00 CST, America/Chicago\n"), "{shown}");
    report.table.rows.clear();
    assert!(text(&report).contains("Nothing to show at 2026-11-15 00:00 CST."));
}
