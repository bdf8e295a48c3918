//! Amounts of memory, as SLURM writes them: `4000M`, `62.50G`, or a bare number whose unit
//! depends on where it stands.

use super::whole;

/// The unit of a number without a suffix.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Bare {
    /// Usage, such as `MaxRSS` with `--noconvert`.
    Bytes,
    /// Requests and allocations, such as `ReqMem` and the `mem` of a TRES list.
    Mebibytes,
}

/// An amount in MiB.
pub(crate) fn mebibytes(text: &[u8], bare: Bare) -> Option<f64> {
    const BYTES: f64 = 1024.0 * 1024.0;
    let (&last, rest) = text.split_last()?;
    let (number, factor) = match last {
        b'K' => (rest, 1.0 / 1024.0),
        b'M' => (rest, 1.0),
        b'G' => (rest, 1024.0),
        b'T' => (rest, 1024.0 * 1024.0),
        b'P' => (rest, 1024.0 * 1024.0 * 1024.0),
        _ if bare == Bare::Bytes => (text, 1.0 / BYTES),
        _ => (text, 1.0),
    };
    Some(decimal(number)? * factor).filter(|amount| amount.is_finite())
}

/// A number as SLURM writes it. Rust reads more: `inf`, `1e3`, `-1`.
fn decimal(text: &[u8]) -> Option<f64> {
    // Nearly all are whole; up to 15 digits a double holds each.
    if text.len() <= 15
        && let Some(whole) = whole::number(text)
    {
        return Some(whole as f64);
    }
    let plain = text.iter().all(|&byte| byte.is_ascii_digit() || byte == b'.');
    plain.then(|| std::str::from_utf8(text).ok())??.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{Bare, mebibytes};

    #[test]
    fn a_suffix_says_the_unit() {
        for (text, expected) in [
            ("10964K", 10.707_031_25), // 10964 ÷ 1024
            ("3M", 3.0),
            ("2G", 2048.0),
            ("62.50G", 64_000.0),
            ("1.5T", 1_572_864.0),
            ("1P", 1_073_741_824.0),
        ] {
            assert_eq!(mebibytes(text.as_bytes(), Bare::Bytes), Some(expected), "{text}");
            assert_eq!(mebibytes(text.as_bytes(), Bare::Mebibytes), Some(expected), "{text}");
        }
    }

    #[test]
    fn a_bare_number_has_the_unit_of_its_place() {
        assert_eq!(mebibytes(b"3145728", Bare::Bytes), Some(3.0));
        assert_eq!(mebibytes(b"2048", Bare::Mebibytes), Some(2048.0));
        assert_eq!(mebibytes(b"0", Bare::Bytes), Some(0.0));
    }

    #[test]
    fn what_is_no_amount_is_none() {
        let endless = "9".repeat(400);
        for text in [&endless, "", "M", "2000?", "-1M", "1e3", "inf", "nan", "1.2.3G", "4Gc", "4 G"]
        {
            assert_eq!(mebibytes(text.as_bytes(), Bare::Mebibytes), None, "{text}");
        }
    }
}
