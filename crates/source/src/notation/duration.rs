//! Times that something took, as SLURM writes them: `[D-]HH:MM:SS`, `MM:SS`, either with a
//! fraction of a second behind.

/// The seconds of `1-02:03:04`, `02:03:04`, `5:00` or `00:03.767`.
pub(crate) fn seconds(text: &[u8]) -> Option<f64> {
    let (clock, fraction) = match memchr::memchr(b'.', text) {
        Some(point) => (&text[..point], Some(&text[point + 1..])),
        None => (text, None),
    };
    let (days, clock) = match memchr::memchr(b'-', clock) {
        Some(hyphen) => (Some(whole(&clock[..hyphen])?), &clock[hyphen + 1..]),
        None => (None, clock),
    };

    let mut parts = clock.rsplit(|&byte| byte == b':');
    let seconds = whole(parts.next()?)?;
    let minutes = whole(parts.next()?)?;
    let hours = match parts.next() {
        Some(hours) => whole(hours)?,
        // `1-02:03` would be hours and minutes, which nothing prints.
        None if days.is_some() => return None,
        None => 0,
    };
    if parts.next().is_some() || seconds >= 60 {
        return None;
    }
    let seconds = ((days.unwrap_or(0) * 24 + hours) * 60 + minutes) * 60 + seconds;

    let Some(fraction) = fraction else {
        return Some(seconds as f64);
    };
    // One division of whole numbers gives the double nearest to the decimal that was printed.
    let scale = 10_i64.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let scaled = seconds.checked_mul(scale)?.checked_add(whole(fraction)?)?;
    Some(scaled as f64 / scale as f64)
}

/// A whole number, small enough that its seconds cannot overflow.
fn whole(digits: &[u8]) -> Option<i64> {
    const LONGEST: usize = 9;
    if digits.is_empty() || digits.len() > LONGEST {
        return None;
    }
    digits.iter().try_fold(0, |number, &digit| {
        digit.is_ascii_digit().then(|| number * 10 + i64::from(digit - b'0'))
    })
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
