//! Round numbers along an axis.

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

    #[test]
    fn an_axis_of_nothing_goes_to_one() {
        check(0.0, 2, "0 0.5 1");
        check(f64::NAN, 2, "0 0.5 1");
    }
}
