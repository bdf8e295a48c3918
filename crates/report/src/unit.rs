//! The one place that writes a value for people.

use jiff::tz::TimeZone;

use crate::Value;

/// What a column's values are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A name or a word.
    Label,
    /// A whole number of things.
    Count,
    /// A number of things on average.
    Average,
    Hours,
    GibibyteHours,
    Percent,
    /// A difference of two percentages.
    PercentagePoints,
    Seconds,
    /// Seconds that may be days, shown as SLURM writes them: `2-03:04:05`.
    Duration,
    Bytes,
    /// A moment, shown in the site's zone.
    Time,
    /// A day of the site's calendar.
    Date,
    /// The probability of a statistical test, shown with four decimals.
    PValue,
    /// A number whose unit the program does not know, such as one from a user's own SQL.
    Plain,
}

impl Unit {
    /// The unit's sign for programs; blank for names, counts and moments.
    pub fn sign(self) -> &'static str {
        match self {
            Unit::Label
            | Unit::Count
            | Unit::Average
            | Unit::Time
            | Unit::Date
            | Unit::PValue
            | Unit::Plain => "",
            Unit::Hours => "h",
            Unit::GibibyteHours => "GiB h",
            Unit::Percent => "%",
            Unit::PercentagePoints => "percentage points",
            Unit::Seconds | Unit::Duration => "s",
            Unit::Bytes => "B",
        }
    }

    /// Whether values line up on the right.
    pub fn is_numeric(self) -> bool {
        !matches!(self, Unit::Label | Unit::Time | Unit::Date)
    }

    /// A value as people read it: a dash for unknown, thousands set apart, as many decimals as
    /// the unit deserves.
    pub fn show(self, value: &Value, zone: &TimeZone) -> String {
        match value {
            Value::Unknown => "-".to_owned(),
            Value::Text(text) => text.clone(),
            Value::Boolean(yes) => if *yes { "yes" } else { "no" }.to_owned(),
            Value::Time(time) => {
                time.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M:%S %Z").to_string()
            }
            Value::Date(date) => date.to_string(),
            Value::Integer(number) if self == Unit::Bytes => bytes(*number as f64),
            Value::Number(number) if self == Unit::Bytes => bytes(*number),
            Value::Integer(number) if self == Unit::Duration => duration(*number as f64),
            Value::Number(number) if self == Unit::Duration => duration(*number),
            Value::Number(number) if self == Unit::PValue => p_value(*number),
            Value::Integer(number) if self == Unit::Plain || self == Unit::Label => {
                number.to_string()
            }
            Value::Integer(number) if self == Unit::Count => grouped(&number.to_string()),
            Value::Integer(number) => grouped(&decimals(*number as f64, self)),
            Value::Number(number) if self == Unit::Plain => number.to_string(),
            Value::Number(number) => grouped(&decimals(*number, self)),
        }
    }
}

fn decimals(number: f64, unit: Unit) -> String {
    let decimals = if unit == Unit::Count { 0 } else { 1 };
    let text = format!("{number:.decimals$}");
    match text.strip_prefix('-') {
        Some(digits) if digits.bytes().all(|byte| matches!(byte, b'0' | b'.')) => digits.to_owned(),
        _ => text,
    }
}

/// A p-value as statistical programs print it, with a lower bound.
fn p_value(probability: f64) -> String {
    const SMALLEST: f64 = 0.0001;
    if probability < SMALLEST { format!("<{SMALLEST}") } else { format!("{probability:.4}") }
}

/// Sets thousands apart with commas.
fn grouped(number: &str) -> String {
    let digits = number.trim_start_matches('-');
    let (whole, fraction) = digits.split_at(digits.find('.').unwrap_or(digits.len()));
    if !whole.bytes().all(|byte| byte.is_ascii_digit()) {
        return number.to_owned(); // infinities and NaN have no thousands
    }
    let mut text = if number.starts_with('-') { "-".to_owned() } else { String::new() };
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text + fraction
}

/// Whole seconds as hours, minutes and seconds, after days if there are any.
fn duration(seconds: f64) -> String {
    if !seconds.is_finite() {
        return seconds.to_string();
    }
    let sign = if seconds.round() < 0.0 { "-" } else { "" };
    let seconds = seconds.round().abs() as u64;
    let (days, hours) = (seconds / 86_400, seconds / 3600 % 24);
    let (minutes, seconds) = (seconds / 60 % 60, seconds % 60);
    let days = if days > 0 { format!("{days}-") } else { String::new() };
    format!("{sign}{days}{hours:02}:{minutes:02}:{seconds:02}")
}

/// A size with a binary prefix.
fn bytes(number: f64) -> String {
    let mut size = number;
    for prefix in ["B", "KiB", "MiB", "GiB", "TiB"] {
        if size.abs() < 1024.0 {
            return if prefix == "B" {
                format!("{size:.0} B")
            } else {
                format!("{size:.1} {prefix}")
            };
        }
        size /= 1024.0;
    }
    format!("{size:.1} PiB")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(unit: Unit, value: &Value, shown: &str) {
        assert_eq!(unit.show(value, &TimeZone::UTC), shown);
    }

    #[test]
    fn unknown_is_a_dash_in_every_unit() {
        check(Unit::Hours, &Value::Unknown, "-");
        check(Unit::Label, &Value::Unknown, "-");
    }

    #[test]
    fn thousands_are_set_apart() {
        check(Unit::Hours, &Value::Number(1_234_567.89), "1,234,567.9");
        check(Unit::Count, &Value::Integer(-1_000), "-1,000");
        check(Unit::Count, &Value::Integer(999), "999");
        check(Unit::Hours, &Value::Number(f64::INFINITY), "inf");
    }

    #[test]
    fn zero_has_no_sign() {
        check(Unit::Hours, &Value::Number(-0.0), "0.0");
        check(Unit::Percent, &Value::Number(-0.04), "0.0");
        check(Unit::Count, &Value::Number(-0.4), "0");
        check(Unit::Hours, &Value::Number(-0.06), "-0.1");
    }

    #[test]
    fn what_has_no_unit_is_shown_as_it_is() {
        check(Unit::Plain, &Value::Integer(1_234_567), "1234567");
        check(Unit::Plain, &Value::Number(0.123456), "0.123456");
    }

    #[test]
    fn a_tiny_p_value_is_below_a_bound_and_not_a_hundred_decimals() {
        check(Unit::PValue, &Value::Number(3.2e-117), "<0.0001");
        check(Unit::PValue, &Value::Number(0.0), "<0.0001");
        check(Unit::PValue, &Value::Number(0.000_1), "0.0001");
        check(Unit::PValue, &Value::Number(0.049_96), "0.0500");
        check(Unit::PValue, &Value::Number(1.0), "1.0000");
        check(Unit::PValue, &Value::Unknown, "-");
    }

    #[test]
    fn sizes_bear_a_binary_prefix() {
        check(Unit::Bytes, &Value::Integer(1023), "1023 B");
        check(Unit::Bytes, &Value::Integer(1536), "1.5 KiB");
        check(Unit::Bytes, &Value::Integer(5 * 1024 * 1024 * 1024), "5.0 GiB");
    }

    #[test]
    fn durations_are_written_as_slurm_writes_them() {
        check(Unit::Duration, &Value::Integer(59), "00:00:59");
        check(Unit::Duration, &Value::Number(3_599.6), "01:00:00");
        check(Unit::Duration, &Value::Integer(2 * 86_400 + 3 * 3600 + 4 * 60 + 5), "2-03:04:05");
        check(Unit::Duration, &Value::Number(-0.4), "00:00:00");
        check(Unit::Duration, &Value::Integer(-61), "-00:01:01");
    }

    #[test]
    fn moments_are_shown_in_the_sites_zone() {
        let zone = TimeZone::get("America/Chicago").unwrap();
        let time = "2026-07-01T12:00:00Z".parse().unwrap();
        assert_eq!(Unit::Time.show(&Value::Time(time), &zone), "2026-07-01 07:00:00 CDT");
    }
}
