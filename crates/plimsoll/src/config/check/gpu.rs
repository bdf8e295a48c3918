//! `[gpu]`: what the site says of its GPUs that no scheduler says.

use std::ops::Range;

use query::{Device, Judgement, Pattern, SLOT_CLASSES, Tier};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Problems, above_zero, advice, string, unknown_keys, words, wrong_type};

pub(super) fn judgement(value: &Spanned<DeValue>, problems: &mut Problems) -> Judgement {
    let mut judgement = Judgement::default();
    let DeValue::Table(table) = value.get_ref() else {
        wrong_type("gpu", "a table ([gpu])", value, problems);
        return judgement;
    };
    let keys =
        ["institution_owned", "researcher_owned", "hidden_families", "classes", "masks", "device"];
    unknown_keys(table, &keys, problems);
    if let Some(value) = table.get("institution_owned") {
        judgement.institution_owned = patterns("gpu.institution_owned", value, problems);
    }
    if let Some(value) = table.get("researcher_owned") {
        judgement.researcher_owned = patterns("gpu.researcher_owned", value, problems);
    }
    if let Some(value) = table.get("classes") {
        judgement.class_names = class_names(value, problems);
    }
    if let Some(value) = table.get("masks") {
        judgement.masks = masks(value, problems);
    }
    if let Some(value) = table.get("device") {
        let known = std::mem::take(&mut judgement.devices);
        judgement.devices = devices(value, problems);
        judgement.devices.extend(known);
    }
    if let Some(value) = table.get("hidden_families") {
        judgement.hidden_families = words("gpu.hidden_families", value, problems);
        unknown_families(value, &judgement, problems);
    }
    judgement
}

/// A family that no model is of would hide nothing, in silence. One that is no model's may still
/// be the name of a model that nobody listed.
fn unknown_families(value: &Spanned<DeValue>, judgement: &Judgement, problems: &mut Problems) {
    let DeValue::Array(elements) = value.get_ref() else { return };
    let mut families: Vec<&str> =
        judgement.devices.iter().map(|device| device.family.as_str()).collect();
    families.sort_unstable();
    families.dedup();
    for element in elements {
        let DeValue::String(family) = element.get_ref() else { continue };
        let is_family = families.iter().any(|known| known.eq_ignore_ascii_case(family));
        if let Some(near) = query::nearest(family, families.iter().copied())
            && !is_family
        {
            let words = format!("gpu.hidden_families: {family:?}: did you mean {near:?}?");
            problems.add(element.span(), words);
        }
    }
}

fn patterns(key: &str, value: &Spanned<DeValue>, problems: &mut Problems) -> Vec<Pattern> {
    let DeValue::Array(elements) = value.get_ref() else {
        wrong_type(key, "an array of strings", value, problems);
        return Vec::new();
    };
    let mut patterns = Vec::new();
    for element in elements {
        if let Some(text) = string(key, "strings only", element, problems) {
            patterns.extend(pattern(key, text, element.span(), problems));
        }
    }
    patterns
}

fn pattern(key: &str, text: &str, span: Range<usize>, problems: &mut Problems) -> Option<Pattern> {
    match Pattern::new(text) {
        Ok(pattern) => Some(pattern),
        Err(error) => {
            problems.add(span, format!("{key}: {text:?} {error}"));
            None
        }
    }
}

fn class_names(value: &Spanned<DeValue>, problems: &mut Problems) -> Vec<(String, String)> {
    let DeValue::Table(table) = value.get_ref() else {
        wrong_type("gpu.classes", "a table ([gpu.classes])", value, problems);
        return Vec::new();
    };
    unknown_keys(table, &SLOT_CLASSES, problems);
    let mut names: Vec<(String, String)> = Vec::new();
    for (class, value) in table {
        let key = format!("gpu.classes.{}", class.get_ref());
        let Some(name) = string(&key, "a string", value, problems) else { continue };
        if name.is_empty() {
            problems.add(value.span(), format!("{key}: it is empty"));
        }
        // Two classes of one name could not be told apart.
        let is_taken = names.iter().any(|(_, taken)| taken == name)
            || (SLOT_CLASSES.contains(&name) && *class.get_ref() != name);
        if is_taken {
            problems.add(value.span(), format!("{key}: {name:?} is the name of another class"));
        }
        names.push((class.get_ref().to_string(), name.to_owned()));
    }
    names
}

/// In the order of the file: of two masks for one machine the first says why.
fn masks(value: &Spanned<DeValue>, problems: &mut Problems) -> Vec<(Pattern, String)> {
    let DeValue::Table(table) = value.get_ref() else {
        wrong_type("gpu.masks", "a table ([gpu.masks])", value, problems);
        return Vec::new();
    };
    let mut masks = Vec::new();
    for (machine, value) in table {
        let text = machine.get_ref();
        let pattern = pattern("gpu.masks", text, machine.span(), problems);
        let key = format!("gpu.masks.{}", text.escape_debug());
        let Some(reason) = string(&key, "the reason, a string", value, problems) else { continue };
        if reason.trim().is_empty() {
            problems.add(value.span(), format!("{key}: say why: every report shows the reason"));
        }
        masks.extend(pattern.map(|pattern| (machine.span().start, pattern, reason.to_owned())));
    }
    masks.sort_by_key(|(place, _, _)| *place);
    masks.into_iter().map(|(_, pattern, reason)| (pattern, reason)).collect()
}

fn devices(value: &Spanned<DeValue>, problems: &mut Problems) -> Vec<Device> {
    let DeValue::Array(elements) = value.get_ref() else {
        wrong_type("gpu.device", "[[gpu.device]]", value, problems);
        return Vec::new();
    };
    let mut devices = Vec::new();
    for element in elements {
        match element.get_ref() {
            DeValue::Table(table) => devices.extend(device(table, element.span(), problems)),
            _ => wrong_type("gpu.device", "a table", element, problems),
        }
    }
    devices
}

/// A model whose names could be read; the rest may be wrong, and then is a problem.
fn device(table: &DeTable, span: Range<usize>, problems: &mut Problems) -> Option<Device> {
    let keys = ["patterns", "name", "family", "tier", "weight", "memory_gb", "hidden"];
    unknown_keys(table, &keys, problems);
    let Some(value) = table.get("patterns") else {
        let words = "gpu.device.patterns: missing: write patterns = [\"NVIDIA A40\"]";
        problems.add(span, words);
        return None;
    };
    let patterns = patterns("gpu.device.patterns", value, problems);
    if patterns.is_empty() {
        problems.add(value.span(), "gpu.device.patterns: it names no model");
    }
    let text = |key: &str, problems: &mut Problems| {
        let value = table.get(key)?;
        let path = format!("gpu.device.{key}");
        let text = string(&path, "a string", value, problems)?;
        if text.is_empty() {
            problems.add(value.span(), format!("{path}: it is empty"));
        }
        Some(text.to_owned())
    };
    let name = text("name", problems);
    let family = text("family", problems).or_else(|| name.clone());
    if family.is_none() {
        problems.add(span, "gpu.device: write a name, a family, or both");
    }
    Some(Device {
        patterns,
        name,
        // A stand-in for what is wrong: with a problem on record no configuration is handed out.
        family: family.unwrap_or_default(),
        tier: table.get("tier").and_then(|value| tier(value, problems)),
        weight: above_zero("gpu.device.weight", "weight", table, problems),
        memory_gb: above_zero("gpu.device.memory_gb", "memory_gb", table, problems),
        hidden: match table.get("hidden").map(|value| (value, value.get_ref())) {
            Some((_, DeValue::Boolean(hidden))) => *hidden,
            Some((value, _)) => {
                wrong_type("gpu.device.hidden", "true or false", value, problems);
                false
            }
            None => false,
        },
    })
}

fn tier(value: &Spanned<DeValue>, problems: &mut Problems) -> Option<Tier> {
    let name = string("gpu.device.tier", "a string", value, problems)?;
    let tier = Tier::ALL.into_iter().find(|tier| tier.name() == name);
    if tier.is_none() {
        let advice = advice(name, &Tier::ALL.map(Tier::name));
        problems.add(value.span(), format!("gpu.device.tier: unknown tier {name:?}: {advice}"));
    }
    tier
}
