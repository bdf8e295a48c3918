//! What holds of the notations whatever the text: for the fuzzer, and for the tests of every day.

use super::classad::{self, Ad};
use super::size::{self, Bare};
use super::{duration, hostlist, tres};

/// Reads a text in every notation, and panics where a law is broken.
pub(crate) fn check(text: &[u8]) {
    durations(text);
    sizes(text);
    lists(text);
    resources(text);
    ads(text);
}

/// Seconds are never negative, and what is written as a duration is read as it was.
fn durations(text: &[u8]) {
    if let Some(seconds) = duration::seconds(text) {
        assert!(seconds.is_finite() && seconds >= 0.0);
    }
    let number = text.iter().take(4).fold(0_u32, |number, &byte| number << 8 | u32::from(byte));
    let (minutes, seconds) = (number / 60, number % 60);
    let (hours, minutes) = (minutes / 60, minutes % 60);
    let written = format!("{}-{:02}:{minutes:02}:{seconds:02}", hours / 24, hours % 24);
    assert_eq!(duration::seconds(written.as_bytes()), Some(f64::from(number)), "{written}");
}

/// A suffix is worth 1024 of the one before it, and a bare number has the unit of its place.
fn sizes(text: &[u8]) {
    let amount = |suffix: &[u8], bare| size::mebibytes(&[text, suffix].concat(), bare);
    for (smaller, larger) in [(b"K", b"M"), (b"M", b"G"), (b"G", b"T"), (b"T", b"P")] {
        let larger = amount(larger, Bare::Bytes);
        assert!(larger.is_none_or(|amount| amount >= 0.0));
        if larger.is_some() {
            assert_eq!(amount(smaller, Bare::Bytes).map(|amount| amount * 1024.0), larger);
        }
    }
    if text.last().is_some_and(u8::is_ascii_digit) {
        assert_eq!(amount(b"", Bare::Mebibytes), amount(b"M", Bare::Mebibytes));
    }
}

/// Two lists in a row name as many as both of them.
fn lists(text: &[u8]) {
    let twice = [text, b",", text].concat();
    if let Some(hosts) = hostlist::count(text) {
        assert!(hosts > 0);
        assert_eq!(hostlist::count(&twice), hosts.checked_mul(2));
    }
    if let Some(numbers) = hostlist::count_numbers(text) {
        assert!(numbers > 0);
        if !text.contains(&b'%') {
            assert_eq!(hostlist::count_numbers(&twice), numbers.checked_mul(2));
        }
    }
}

/// A list of resources is a set: its order says nothing.
fn resources(text: &[u8]) {
    let read = tres::resources(text);
    if let Some(resources) = &read {
        assert!(resources.gpus.is_none_or(|gpus| gpus >= 0));
        assert!(resources.memory_mb.is_none_or(|memory| memory >= 0.0));
        assert_eq!(resources.gpus.is_none(), text.is_empty());
    }
    let items: Vec<&[u8]> = text.split(|&byte| byte == b',').collect();
    let mut names: Vec<_> =
        items.iter().map(|item| item.split(|&byte| byte == b'=').next()).collect();
    names.sort_unstable();
    names.dedup();
    if names.len() == items.len() {
        let backwards: Vec<&[u8]> = items.iter().rev().copied().collect();
        assert_eq!(tres::resources(&backwards.join(&b","[..])), read);
    }
}

/// Readings of one attribute agree, and a GPU has one name however it was spelt.
fn ads(text: &[u8]) {
    if let Ok(ad) = Ad::read(text) {
        for name in ["GPUs", "MyType", ""] {
            let (number, integer) = (ad.number(name), ad.integer(name));
            if let (Some(number), Some(integer)) = (number, integer) {
                // The next float may be 1024 away where integers are largest.
                assert!((number - integer as f64).abs() <= 1024.0, "{number} {integer}");
                assert!(number.abs() > 9e15 || number.trunc() == integer as f64);
            }
            assert!(integer.is_none() || number.is_some());
            assert!(ad.truth(name).is_none() || number.is_none());
            assert_eq!(ad.words(name), ad.text(name).filter(|text| !text.trim().is_empty()));
            let seconds = ad.time(name).map(|time| time.as_second());
            assert!(seconds.is_none() || (seconds == integer && integer > Some(0)));
            let is_defined = ad.get(name).is_some_and(|value| !value.is_undefined());
            assert_eq!(ad.gpu_ids(name).is_some(), is_defined);
        }
        assert!(ad.nested().count() <= text.len());
    }
    let spelling = String::from_utf8_lossy(text);
    if let Some(gpu_id) = classad::gpu_id(&spelling)
        && (gpu_id.starts_with("GPU-") || gpu_id.starts_with("MIG-"))
    {
        assert_eq!(classad::gpu_id(&gpu_id).as_ref(), Some(&gpu_id), "{spelling}");
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::check;

    proptest! {
        #[test]
        fn they_hold_for_any_text(
            text in prop_oneof![
                prop::collection::vec(any::<u8>(), 0..40),
                "[0-9.:-]{0,16}".prop_map(String::into_bytes),
                "[0-9.]{1,24}[KMGTP]?".prop_map(String::into_bytes),
                r"[a-c0-9,:%\[\]-]{0,20}".prop_map(String::into_bytes),
                "(cpu|mem|gres/gpu|gres/gpu:a100|gres/shard)=[0-9.]{0,4}[KMG]?(,(node|mem|gres/gpu:1g.5gb)=[0-9]{1,3}M?){0,3}"
                    .prop_map(String::into_bytes),
                r#"\{"GPUs": [0-9"{}eE.,: -]{0,12}\}"#.prop_map(String::into_bytes),
                "(GPUs_|CUDA)?(GPU|MIG)[-_][0-9a-f-]{0,12}".prop_map(String::into_bytes),
            ]
        ) {
            check(&text);
        }
    }
}
