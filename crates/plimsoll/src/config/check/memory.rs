//! `memory_limit`: how much memory questions may hold together.

use anyhow::{Context, Result};
use query::Memory;
use toml::Spanned;
use toml::de::DeValue;

use super::{Problems, string};

pub(super) fn memory(value: &Spanned<DeValue>, problems: &mut Problems) -> Memory {
    let Some(written) = string("memory_limit", "a string", value, problems) else {
        return Memory::default();
    };
    memory_limit(written).and_then(Memory::limited).unwrap_or_else(|error| {
        problems.add(value.span(), format!("memory_limit: {written:?}: {error:#}"));
        Memory::default()
    })
}

const MEBIBYTE: u64 = 1024 * 1024;

/// With less not even small questions are answered.
const LEAST: u64 = 16 * MEBIBYTE;

/// A size in bytes, as it is written.
pub(crate) fn memory_limit(written: &str) -> Result<u64> {
    let units = [("MiB", MEBIBYTE), ("GiB", 1024 * MEBIBYTE), ("TiB", 1024 * 1024 * MEBIBYTE)];
    let size = units.iter().find_map(|(unit, bytes)| {
        let number: u64 = written.strip_suffix(unit)?.trim_end().parse().ok()?;
        number.checked_mul(*bytes)
    });
    size.filter(|size| *size >= LEAST).context(
        "write a whole number and MiB, GiB or TiB, such as 512MiB or 2GiB, and no less than 16MiB",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_whole_and_have_a_unit() {
        for (written, expected) in [
            ("16MiB", 16_777_216),
            ("512 MiB", 536_870_912),
            ("2GiB", 2_147_483_648),
            ("1TiB", 1_099_511_627_776),
        ] {
            assert_eq!(memory_limit(written).unwrap(), expected, "{written}");
        }
        for written in [
            "",
            "GiB",
            "2",
            "2G",
            "2GB",
            "2gib",
            "1.5GiB",
            "-2GiB",
            "0MiB",
            "15MiB",
            "2KiB",
            "99999999999TiB",
            "2 GiB of it",
        ] {
            assert!(memory_limit(written).is_err(), "{written:?}");
        }
    }
}
