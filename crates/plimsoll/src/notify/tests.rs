//! Who gets a letter, worked out by hand.

use jiff::civil::Weekday;
use report::{Column, Period};

use super::*;

const NOW: &str = "2026-11-16T15:00:00Z"; // a Monday, 09:00 in Chicago

fn zone() -> TimeZone {
    TimeZone::get("America/Chicago").unwrap()
}

fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// One rule: 500 hours at least, which are three quarters of what was held at least.
fn rules() -> Notify {
    Notify {
        address: Some("{user}@example.org".into()),
        days: 14,
        cadence_days: 14,
        quiet_days: vec![Weekday::Saturday, Weekday::Sunday],
        quiet_hours: Some((18, 8)),
        quiet_dates: vec![("2026-12-24".parse().unwrap(), "2027-01-02".parse().unwrap())],
        excluded_users: vec!["root".into()],
        footer: Some("Ask help@example.org.".into()),
        rules: vec![Rule {
            name: "cpu".into(),
            report: "wasters".into(),
            amount: "hours".into(),
            floor: 500.0,
            share: ShareOf::Column("share".into()),
            ratio: 0.75,
            words: "{amount} CPU hours, {share} %".into(),
        }],
    }
}

fn table(columns: &[(&str, Unit)], rows: &[&[&str]]) -> Table {
    let value = |text: &str| match text {
        "-" => Value::Unknown,
        text => text.parse().map_or_else(|_| Value::Text(text.to_owned()), Value::Number),
    };
    Table {
        columns: columns
            .iter()
            .map(|(name, unit)| Column {
                name: (*name).to_owned(),
                heading: (*name).to_owned(),
                unit: *unit,
            })
            .collect(),
        rows: rows.iter().map(|row| row.iter().map(|text| value(text)).collect()).collect(),
    }
}

/// What comes of one user's row: user, hours wasted, share of what was held.
fn check(row: &[&str], last: Option<&str>, expected: Option<&Standing>) {
    check_by(&rules(), row, last, expected);
}

fn check_by(notify: &Notify, row: &[&str], last: Option<&str>, expected: Option<&Standing>) {
    let columns = [("user", Unit::Label), ("hours", Unit::Hours), ("share", Unit::Percent)];
    let tables = BTreeMap::from([("wasters".to_owned(), table(&columns, &[row]))]);
    let found = cases(notify, &tables, |_| last.map(time), &zone(), time(NOW));
    assert_eq!(found.first().map(|case| &case.standing), expected, "{row:?}");
}

fn due() -> Standing {
    Standing::Due("ann@example.org".to_owned())
}

#[test]
fn a_letter_needs_the_ratio_and_the_floor() {
    check(&["ann", "499.9", "99.0"], None, None); // all of very little
    check(&["ann", "90000", "74.9"], None, None); // a little of very much
    check(&["ann", "500", "75.0"], None, Some(&due()));
    check(&["ann", "-", "99.0"], None, None); // not known is not wasted
    check(&["ann", "9000", "-"], None, None);
    check(&["-", "9000", "99.0"], None, None); // nobody's
}

#[test]
fn a_share_may_be_of_another_column() {
    let mut notify = rules();
    notify.rules[0].share = ShareOf::Whole("share".into());
    check_by(&notify, &["ann", "600", "800"], None, Some(&due())); // 75 %
    check_by(&notify, &["ann", "600", "801"], None, None); // 74.9 %
    check_by(&notify, &["ann", "600", "0"], None, None);
}

#[test]
fn who_is_excluded_gets_none() {
    check(&["root", "9000", "99.0"], None, Some(&Standing::Excluded));
}

#[test]
fn nobody_is_told_more_often_than_the_cadence() {
    let three_days_ago = "2026-11-13T15:00:00Z";
    let row = ["ann", "9000", "99.0"];
    check(&row, Some(three_days_ago), Some(&Standing::Told(time(three_days_ago))));
    // The 3rd is thirteen days before the 16th, the 2nd fourteen, whatever the hour.
    let thirteen = "2026-11-03T12:00:00Z";
    check(&row, Some(thirteen), Some(&Standing::Told(time(thirteen))));
    check(&row, Some("2026-11-02T23:00:00Z"), Some(&due()));
}

#[test]
fn a_name_that_is_more_than_a_name_has_no_address() {
    for user in ["a b", "eve@evil.example,ann", "x\r\nBcc: y", ""] {
        check(&[user, "9000", "99.0"], None, Some(&Standing::Nowhere));
    }
    check_by(
        &Notify { address: None, ..rules() },
        &["ann", "9000", "99.0"],
        None,
        Some(&Standing::Nowhere),
    );
}

#[test]
fn there_are_times_when_nobody_is_told() {
    let check = |now: &str, reason: Option<&str>| {
        assert_eq!(quiet(&rules(), &zone(), time(now)).as_deref(), reason, "{now}");
    };
    check(NOW, None);
    check("2026-11-15T18:00:00Z", Some("quiet_days has Sunday"));
    check("2026-11-17T00:00:00Z", Some("quiet_hours has 18-8")); // 18:00 on Monday there
    check("2026-11-17T13:59:00Z", Some("quiet_hours has 18-8"));
    check("2026-11-17T14:00:00Z", None); // 08:00
    check("2026-12-24T16:00:00Z", Some("quiet_dates has 2026-12-24..2027-01-02"));
}

#[test]
fn a_letter_says_what_was_found_and_what_to_ask_for() {
    let columns = [("user", Unit::Label), ("hours", Unit::Hours), ("share", Unit::Percent)];
    let tables = BTreeMap::from([(
        "wasters".to_owned(),
        table(&columns, &[&["ann", "1234.5", "80"], &["ben", "10", "10"]]),
    )]);
    let cases = cases(&rules(), &tables, |_| None, &zone(), time(NOW));
    assert_eq!(cases.len(), 1);
    let label = Unit::Label;
    let rightsizing = table(
        &[
            ("cluster", label),
            ("user", label),
            ("job_name", label),
            ("memory", label),
            ("cpus", label),
            ("time", label),
        ],
        &[
            &["alder", "ann", "train", "--mem=4G", "-", "--time=01:00:00"],
            &["alder", "ben", "other", "--mem=9G", "-", "-"],
            &["alder", "ann", "fits", "-", "-", "-"],
        ],
    );
    let period =
        Period::of_days("2026-11-02".parse().unwrap(), "2026-11-16".parse().unwrap(), &zone())
            .unwrap();
    assert_eq!(
        text(&cases[0], &rules(), &rightsizing, &period),
        "\
Hello ann,

this is how your jobs used what they held, 2026-11-02 to 2026-11-15 (America/Chicago).

- 1,234.5 CPU hours, 80.0 %

What these jobs could ask for next time, by what they used:

  --mem=4G --time=01:00:00    (jobs named train on alder)

This letter is written by a program, and comes every 14 days at the most.
Ask help@example.org.
"
    );
}
