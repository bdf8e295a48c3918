//! Whole numbers: most of what a scheduler prints.

/// Reads digits and nothing else; none if there are none, or if the number is too large.
pub(crate) fn number(digits: &[u8]) -> Option<i64> {
    /// So many digits are a number that is not too large, whatever they are.
    const SAFE: usize = 18;
    match digits.len() {
        0 => return None,
        1..=SAFE => {}
        _ => return long_number(digits),
    }
    let (words, rest) = digits.as_chunks::<8>();
    let mut number = 0;
    for word in words {
        number = 100_000_000 * number + eight_digits(*word)?;
    }
    for digit in rest {
        number = 10 * number + i64::from(digit.is_ascii_digit().then(|| digit - b'0')?);
    }
    Some(number)
}

/// Eight digits at once: neighbours become numbers of two digits, those numbers of four, and those
/// the number.
fn eight_digits(word: [u8; 8]) -> Option<i64> {
    const ZEROS: u64 = u64::from_ne_bytes([b'0'; 8]);
    const TO_HIGHEST_BIT: u64 = u64::from_ne_bytes([0x80 - 10; 8]);
    const HIGHEST_BITS: u64 = u64::from_ne_bytes([0x80; 8]);
    let ones = u64::from_le_bytes(word) ^ ZEROS;
    if (ones | ones.wrapping_add(TO_HIGHEST_BIT)) & HIGHEST_BITS != 0 {
        return None;
    }
    let twos = (10 * ones + (ones >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (100 * twos + (twos >> 16)) & 0x0000_ffff_0000_ffff;
    Some(((10_000 * fours + (fours >> 32)) & 0xffff_ffff) as i64)
}

fn long_number(digits: &[u8]) -> Option<i64> {
    digits.iter().try_fold(0_i64, |number, &digit| {
        let digit = digit.is_ascii_digit().then(|| i64::from(digit - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    })
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn digits_are_a_number_however_many_there_are() {
        for (digits, expected) in [
            ("0", 0),
            ("7", 7),
            ("12345678", 12_345_678),
            ("00000000", 0),
            ("99999999", 99_999_999),
            ("1794304018", 1_794_304_018),
            ("1234567890123456", 1_234_567_890_123_456),
            ("999999999999999999", 999_999_999_999_999_999),
            ("9223372036854775807", i64::MAX),
            ("0000000000000000000000000000012", 12),
        ] {
            assert_eq!(number(digits.as_bytes()), Some(expected), "{digits}");
        }
    }

    #[test]
    fn anything_else_is_none() {
        let numbers = ["", "-1", "+1", " 1", "1.5", "12x", "9223372036854775808"];
        for text in numbers {
            assert_eq!(number(text.as_bytes()), None, "{text}");
        }
        // Any other byte, wherever it stands among digits that are read at once.
        for place in 0..8 {
            for byte in (0..=255_u8).filter(|byte| !byte.is_ascii_digit()) {
                let mut text = *b"12345678";
                text[place] = byte;
                assert_eq!(number(&text), None, "{text:?}");
            }
        }
    }
}
