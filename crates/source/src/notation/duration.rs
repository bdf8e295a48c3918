//! Times that something took, as SLURM writes them: `[D-]HH:MM:SS`, `MM:SS`, either with a
//! fraction of a second behind.

use super::whole;

/// The seconds of `1-02:03:04`, `02:03:04`, `5:00` or `00:03.767`.
pub(crate) fn seconds(text: &[u8]) -> Option<f64> {
    let (mut days, mut colons, mut clock, mut rest) = (None, 0, 0, text);
    loop {
        let length = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let number = part(&rest[..length])?;
        match rest.get(length) {
            Some(b'-') if days.is_none() && colons == 0 => days = Some(number),
            Some(b':') if colons < 2 => {
                clock = (clock + number) * 60;
                colons += 1;
            }
            end @ (None | Some(b'.')) if number < 60 => {
                // `1-02:03` would be hours and minutes, which nothing prints.
                if colons == 0 || days.is_some() && colons == 1 {
                    return None;
                }
                let seconds = days.unwrap_or(0) * 24 * 3600 + clock + number;
                return match end {
                    Some(_) => with_fraction(seconds, &rest[length + 1..]),
                    None => Some(seconds as f64),
                };
            }
            _ => return None,
        }
        rest = &rest[length + 1..];
    }
}

fn with_fraction(seconds: i64, fraction: &[u8]) -> Option<f64> {
    // One division of whole numbers gives the double nearest to the decimal that was printed.
    let scale = 10_i64.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let scaled = seconds.checked_mul(scale)?.checked_add(part(fraction)?)?;
    Some(scaled as f64 / scale as f64)
}

/// A whole number, small enough that its seconds cannot overflow.
fn part(digits: &[u8]) -> Option<i64> {
    const LONGEST: usize = 9;
    whole::number(digits).filter(|_| digits.len() <= LONGEST)
}

#[cfg(test)]
mod tests {
    use super::seconds;

    #[test]
    fn every_form_that_slurm_prints_is_read() {
        for (text, expected) in [
            ("00:00:00", 0.0),
            ("00:03.767", 3.767),
            ("00:00.012", 0.012),
            ("02:03.456", 123.456),
            ("5:00", 300.0),
            ("11:59:09", 43_149.0),
            // 26 h 3 min 4 s = 26 × 3600 + 3 × 60 + 4
            ("1-02:03:04", 93_784.0),
            ("1-02:03:04.5", 93_784.5),
            ("100:00:00", 360_000.0),
        ] {
            assert_eq!(seconds(text.as_bytes()), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_duration_is_none() {
        for text in [
            "",
            "INVALID",
            "UNLIMITED",
            "12",
            "1:2:3:4",
            "-01:00",
            "1-02:03",
            "00:61",
            "00:00.",
            "00:00.1x",
            "9999999999:00",
            "00:00:00.1234567890123456789",
        ] {
            assert_eq!(seconds(text.as_bytes()), None, "{text}");
        }
    }
}
