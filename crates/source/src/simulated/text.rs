//! Writes numbers and times as schedulers do, quickly: a day's text is tens of megabytes.

use std::io::Write;

/// Hands what is written to a sink in pieces, as a pipe would.
pub(super) struct Output<'a> {
    pub(super) text: Vec<u8>,
    sink: &'a mut dyn FnMut(&[u8]),
}

const PIECE: usize = 128 * 1024;

impl<'a> Output<'a> {
    pub(super) fn new(sink: &'a mut dyn FnMut(&[u8])) -> Output<'a> {
        Output { text: Vec::with_capacity(PIECE + PIECE / 4), sink }
    }

    /// Hands over what is full; called between rows.
    pub(super) fn flow(&mut self) {
        if self.text.len() >= PIECE {
            self.finish();
        }
    }

    pub(super) fn finish(&mut self) {
        if !self.text.is_empty() {
            (self.sink)(&self.text);
            self.text.clear();
        }
    }
}

pub(super) fn push(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
}

pub(super) fn number(out: &mut Vec<u8>, value: impl Into<u64>) {
    let mut value = value.into();
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

fn two_digits(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(&[b'0' + (value / 10 % 10) as u8, b'0' + (value % 10) as u8]);
}

/// `[D-]HH:MM:SS`.
pub(super) fn duration(out: &mut Vec<u8>, seconds: u64) {
    let days = seconds / 86_400;
    if days > 0 {
        number(out, days);
        out.push(b'-');
    }
    two_digits(out, seconds / 3600 % 24);
    out.push(b':');
    two_digits(out, seconds / 60 % 60);
    out.push(b':');
    two_digits(out, seconds % 60);
}

/// CPU time as sacct prints it: `MM:SS.mmm` below an hour, `00:00:00` for none.
pub(super) fn cpu_time(out: &mut Vec<u8>, milliseconds: u64) {
    let seconds = milliseconds / 1000;
    if milliseconds == 0 || seconds >= 3600 {
        return duration(out, seconds);
    }
    two_digits(out, seconds / 60);
    out.push(b':');
    two_digits(out, seconds % 60);
    out.push(b'.');
    out.push(b'0' + (milliseconds / 100 % 10) as u8);
    two_digits(out, milliseconds % 100);
}

/// A time limit as squeue prints it: `5:00`, `2:58:12`, `1-00:00:00`.
pub(super) fn time_limit(out: &mut Vec<u8>, minutes: u32) {
    let (days, hours, minutes) = (minutes / 1440, minutes / 60 % 24, minutes % 60);
    // Vec<u8> takes whatever is written to it.
    let _ = match (days, hours) {
        (0, 0) => write!(out, "{minutes}:00"),
        (0, _) => write!(out, "{hours}:{minutes:02}:00"),
        _ => write!(out, "{days}-{hours:02}:{minutes:02}:00"),
    };
}

/// What an amount of memory is counted in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Unit {
    Byte,
    Mebibyte,
}

/// Memory as squeue and scontrol convert it.
pub(super) fn memory(out: &mut Vec<u8>, megabytes: u64) {
    converted(out, megabytes, Unit::Mebibyte);
}

/// An amount in the next larger unit, and so on, where that leaves a whole or a half.
pub(super) fn converted(out: &mut Vec<u8>, amount: u64, unit: Unit) {
    const LETTERS: [&str; 5] = ["", "K", "M", "G", "T"];
    let (mut value, mut letter) = (amount as f64, unit.letter());
    while value >= 1024.0 && (value as u64).is_multiple_of(512) && letter + 1 < LETTERS.len() {
        value /= 1024.0;
        letter += 1;
    }
    let letter = LETTERS[letter];
    // Vec<u8> takes whatever is written to it.
    let _ = if value.fract() == 0.0 {
        write!(out, "{value}{letter}")
    } else {
        write!(out, "{value:.2}{letter}")
    };
}

/// The same as it was counted.
pub(super) fn unconverted(out: &mut Vec<u8>, amount: u64, unit: Unit) {
    number(out, amount);
    if unit == Unit::Mebibyte {
        out.push(b'M');
    }
}

/// Bytes that were read or written, which sacct always shows in mebibytes: `0.03M`.
pub(super) fn disk(out: &mut Vec<u8>, bytes: u64) {
    let hundredths = bytes * 100 / (1 << 20);
    number(out, hundredths / 100);
    out.push(b'.');
    two_digits(out, hundredths % 100);
    out.push(b'M');
}

impl Unit {
    /// Its place among the letters of units.
    fn letter(self) -> usize {
        match self {
            Unit::Byte => 0,
            Unit::Mebibyte => 2,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn memory_is_converted_as_scontrol_does() {
        // From fixtures/slurm-22.05/scontrol-show-node-detail.txt.
        for (megabytes, expected) in [
            (0, "0M"),
            (4200, "4200M"),
            (16_000, "16000M"),
            (2048, "2G"),
            (64_000, "62.50G"),
            (128_000, "125G"),
        ] {
            assert_eq!(written(|out| memory(out, megabytes)), expected);
        }
    }

    #[test]
    fn bytes_are_converted_as_sacct_does() {
        // From fixtures/slurm-22.05/sacct-all-noconvert.psv, and the same job's row without it.
        for (bytes, expected) in
            [(11_227_136, "10964K"), (224_800_768, "219532K"), (2 << 30, "2G"), (1000, "1000")]
        {
            assert_eq!(written(|out| converted(out, bytes, Unit::Byte)), expected);
        }
        assert_eq!(written(|out| unconverted(out, 2048, Unit::Mebibyte)), "2048M");
        assert_eq!(written(|out| unconverted(out, 11_227_136, Unit::Byte)), "11227136");
        // 32,435 bytes are 0.0309 MiB.
        assert_eq!(written(|out| disk(out, 32_435)), "0.03M");
    }

    #[test]
    fn cpu_time_has_milliseconds_below_an_hour() {
        for (milliseconds, expected) in [
            (0, "00:00:00"),
            (3767, "00:03.767"),
            (3_599_002, "59:59.002"),
            (3_600_999, "01:00:00"),
            (90_061_000, "1-01:01:01"),
        ] {
            assert_eq!(written(|out| cpu_time(out, milliseconds)), expected);
        }
    }

    #[test]
    fn a_time_limit_is_short_where_it_can_be() {
        for (minutes, expected) in [(5, "5:00"), (178, "2:58:00"), (1440, "1-00:00:00")] {
            assert_eq!(written(|out| time_limit(out, minutes)), expected);
        }
    }
}
