//! Text of strangers, made harmless and visible.

use std::borrow::Cow;

/// The text with every character that would steer a terminal or reorder a line replaced by one
/// that shows: names of users and jobs are chosen by users.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    if text.chars().any(steers) {
        text.chars().map(visible_character).collect()
    } else {
        Cow::Borrowed(text)
    }
}

/// One character of [`visible`] text.
pub(crate) fn visible_character(character: char) -> char {
    if steers(character) { sign(character) } else { character }
}

fn steers(character: char) -> bool {
    character.is_control()
        // Line and paragraph separators, the byte order mark, and the marks, embeddings,
        // overrides and isolates that change the direction of writing (Unicode TR 9, 2).
        || matches!(character,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}' | '\u{feff}'
            // XML 1.0, 2.2, has no place for these.
            | '\u{fffe}' | '\u{ffff}')
}

/// Unicode has a picture for each control character of ASCII, in ASCII's order from U+2400.
fn sign(character: char) -> char {
    match character {
        '\0'..='\x1f' => char::from_u32(0x2400 + character as u32).unwrap_or('\u{fffd}'),
        '\x7f' => '␡',
        _ => '\u{fffd}',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, shown: &str) {
        assert_eq!(visible(text), shown);
    }

    #[test]
    fn harmless_text_stays() {
        check("größe 🦀 a|b <i>", "größe 🦀 a|b <i>");
    }

    #[test]
    fn control_characters_become_their_pictures() {
        check("\x1b[2Ja\tb\nc\r\0\x7f", "␛[2Ja␉b␊c␍␀␡");
    }

    #[test]
    fn what_has_no_picture_becomes_a_question_mark() {
        // U+009B begins an escape sequence on some terminals; U+202E turns the rest of a line.
        check("\u{9b}31m \u{202e}gpj.exe", "\u{fffd}31m \u{fffd}gpj.exe");
    }
}
