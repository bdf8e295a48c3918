//! Round numbers along an axis.

use report::Unit;

/// The marks of an axis from zero to at least the highest amount: multiples of 1, 2 or 5 times a
/// power of ten, about as many as asked for. The last is where the axis ends.
pub(crate) fn ticks(highest: f64, about: usize) -> Vec<f64> {
    let highest = if highest.is_finite() && highest > 0.0 { highest } else { 1.0 };
    let rough = highest / about.max(1) as f64;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|factor| factor * power)
        .find(|step| *step >= rough * (1.0 - 1e-9))
        .unwrap_or(10.0 * power);
    let count = (highest / step - 1e-9).ceil().max(1.0) as usize;
    (0..=count).map(|index| index as f64 * step).collect()
}

/// The marks of an axis of a unit, each with its words: percents go to a hundred at least, and
/// lengths of time by minutes, hours and days.
pub(crate) fn marks(unit: Unit, highest: f64, about: usize) -> Vec<(f64, String)> {
    match unit {
        Unit::Seconds | Unit::Duration => {
            let step = time_step(highest, about);
            let steps = (highest / step).ceil().max(1.0);
            let step = step * (steps / about.max(1) as f64).ceil();
            let marks =
                (0..=(highest / step).ceil().max(1.0) as u32).map(|count| f64::from(count) * step);
            marks.map(|mark| (mark, duration_words(mark))).collect()
        }
        Unit::Percent => with_words(ticks(highest.max(100.0), about)),
        _ => with_words(ticks(highest, about)),
    }
}

fn with_words(ticks: Vec<f64>) -> Vec<(f64, String)> {
    ticks.into_iter().map(|tick| (tick, shown(tick))).collect()
}

/// The shortest of the lengths of time that people count in of which no more than so many are needed.
fn time_step(highest: f64, about: usize) -> f64 {
    const MINUTES: [f64; 11] =
        [1.0, 5.0, 15.0, 30.0, 60.0, 120.0, 180.0, 360.0, 720.0, 1440.0, 2880.0];
    let fits = |step: &f64| highest <= step * about as f64;
    MINUTES.into_iter().map(|minutes| minutes * 60.0).find(fits).unwrap_or(7.0 * 86_400.0)
}

/// A length of time on an axis: `15 min`, `6 h`, `2 d`.
pub(crate) fn duration_words(seconds: f64) -> String {
    let in_units = |length: f64| seconds / length;
    match seconds {
        0.0 => "0".to_owned(),
        _ if in_units(86_400.0).fract() == 0.0 => format!("{} d", shown(in_units(86_400.0))),
        _ if in_units(3600.0).fract() == 0.0 => format!("{} h", shown(in_units(3600.0))),
        _ if seconds >= 60.0 => format!("{} min", shown((in_units(60.0) * 10.0).round() / 10.0)),
        _ => format!("{} s", shown(seconds)),
    }
}

/// A number of an axis, without more decimals than its step has.
pub(crate) fn shown(number: f64) -> String {
    let rounded = (number * 1e6).round() / 1e6;
    let text = rounded.to_string();
    match text.find('.') {
        Some(_) => text,
        None => grouped(&text),
    }
}

fn grouped(digits: &str) -> String {
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(highest: f64, about: usize, expected: &str) {
        let shown: Vec<String> = ticks(highest, about).into_iter().map(shown).collect();
        assert_eq!(shown.join(" "), expected);
    }

    #[test]
    fn marks_are_round_and_reach_the_highest() {
        check(300.0, 5, "0 100 200 300");
        check(301.0, 5, "0 100 200 300 400");
        check(8.0, 4, "0 2 4 6 8");
        check(0.7, 4, "0 0.2 0.4 0.6 0.8");
        check(10_000.0, 5, "0 2,000 4,000 6,000 8,000 10,000");
    }

    fn check_marks(unit: Unit, highest: f64, about: usize, expected: &str) {
        let words: Vec<String> =
            marks(unit, highest, about).into_iter().map(|(_, words)| words).collect();
        assert_eq!(words.join(", "), expected);
    }

    #[test]
    fn lengths_of_time_are_counted_as_people_count_them() {
        check_marks(Unit::Duration, 3.0 * 3600.0, 4, "0, 1 h, 2 h, 3 h");
        check_marks(Unit::Duration, 50.0 * 60.0, 4, "0, 15 min, 30 min, 45 min, 1 h");
        check_marks(Unit::Duration, 3.5 * 86_400.0, 4, "0, 1 d, 2 d, 3 d, 4 d");
        check_marks(Unit::Duration, 90.0 * 86_400.0, 4, "0, 28 d, 56 d, 84 d, 112 d");
        check_marks(Unit::Duration, 10.0, 4, "0, 1 min");
    }

    #[test]
    fn percents_go_to_a_hundred() {
        check_marks(Unit::Percent, 7.0, 4, "0, 50, 100");
        check_marks(Unit::Percent, 130.0, 4, "0, 50, 100, 150");
    }

    #[test]
    fn an_axis_of_nothing_goes_to_one() {
        check(0.0, 2, "0 0.5 1");
        check(f64::NAN, 2, "0 0.5 1");
    }
}
