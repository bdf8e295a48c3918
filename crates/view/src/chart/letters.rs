//! How wide a text is, so that labels do not run into each other.

/// Advance widths of Inter's printable ASCII characters, in hundredths of the size; from the
/// `hmtx` table of the font in this crate.
const REGULAR: [u8; 95] = [
    28, 29, 47, 63, 64, 98, 64, 30, 36, 36, 50, 66, 29, 46, 29, 36, 63, 41, 61, 62, 65, 59, 62, 57,
    62, 62, 29, 30, 66, 66, 66, 51, 97, 69, 65, 73, 72, 60, 59, 75, 74, 27, 57, 67, 57, 90, 75, 76,
    64, 76, 64, 64, 65, 74, 69, 99, 68, 68, 63, 36, 36, 36, 47, 46, 32, 56, 61, 57, 61, 58, 37, 61,
    59, 24, 24, 55, 24, 88, 59, 60, 61, 61, 38, 53, 33, 59, 56, 82, 55, 56, 55, 43, 33, 43, 66,
];

/// What letters of the bold cut are wider by.
const BOLD: f64 = 1.04;

/// The width of a text. Letters beyond ASCII are taken as wide, so that the result is rather too
/// much than too little, also in a browser that has another font.
pub(crate) fn width(text: &str, size: f64, bold: bool) -> f64 {
    let hundredths: u32 = text
        .chars()
        .map(|character| match character {
            ' '..='~' => u32::from(REGULAR[character as usize - ' ' as usize]),
            '\u{a0}'..='\u{2fff}' => 70,
            _ => 100,
        })
        .sum();
    f64::from(hundredths) / 100.0 * size * if bold { BOLD } else { 1.0 }
}

/// The text, cut and ended by an ellipsis if it is wider than there is room for.
pub(crate) fn cut(text: &str, size: f64, bold: bool, room: f64) -> String {
    if width(text, size, bold) <= room {
        return text.to_owned();
    }
    let mut kept = String::new();
    for character in text.chars() {
        kept.push(character);
        if width(&kept, size, bold) + size > room {
            kept.pop();
            break;
        }
    }
    kept.push('…');
    kept
}

/// The text in lines that are no wider than there is room for, broken between words.
pub(crate) fn wrapped(text: &str, size: f64, room: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(line, size, false) + width(word, size, false) + size <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(cut(word, size, false, room)),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_as_wide_as_its_letters() {
        // G 0.75, P 0.64, U 0.74.
        assert!((width("GPU", 10.0, false) - 21.3).abs() < 1e-9);
        assert!((width("漢", 10.0, false) - 10.0).abs() < 1e-9);
    }

    #[test]
    fn a_long_text_is_cut_and_says_so() {
        assert_eq!(cut("GPU", 10.0, false, 30.0), "GPU");
        assert_eq!(cut("GPUGPUGPU", 10.0, false, 32.0), "GPU…");
        assert_eq!(cut("漢字漢字", 10.0, false, 5.0), "…");
    }

    #[test]
    fn lines_break_between_words() {
        assert_eq!(wrapped("GPU GPU GPU", 10.0, 60.0), ["GPU GPU", "GPU"]);
        assert!(wrapped("", 10.0, 60.0).is_empty());
    }
}
