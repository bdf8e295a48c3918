//! A site policy as rows of the lake, and back.

use std::collections::BTreeMap;

use jiff::Timestamp;
use record::{Record, SitePolicy, Text};

use crate::judgement::{Device, Judgement, Pattern, Preemptible, Tier};

/// The policy of a cluster as the lake stores it. Models that every site knows are not in it.
pub fn policy_rows(
    policy: &Judgement,
    cluster: &str,
    origin: &str,
    valid_from: Timestamp,
    stored_time: Timestamp,
) -> Vec<SitePolicy> {
    let blank = SitePolicy {
        cluster: cluster.into(),
        valid_from,
        rule: 0,
        kind: SitePolicy::WHOLE.into(),
        pattern: None,
        value: None,
        family: None,
        tier: None,
        weight: None,
        memory_gb: None,
        hidden: None,
        stored_time,
    };
    let rule = |kind: &str, pattern: &str| SitePolicy {
        kind: kind.into(),
        pattern: Some(pattern.into()),
        ..blank.clone()
    };
    let pair = |kind: &str, pattern: &str, value: &str| SitePolicy {
        value: Some(value.into()),
        ..rule(kind, pattern)
    };
    let mut rows = vec![SitePolicy { value: Some(origin.into()), ..blank.clone() }];
    if let Some(Preemptible { partitions, qos, .. }) = policy.preemptible_of(cluster) {
        rows.extend(partitions.iter().map(|name| rule("backfill_partition", name)));
        rows.extend(qos.iter().map(|name| rule("backfill_qos", name)));
    }
    let owned = |kind, patterns: &[Pattern]| -> Vec<SitePolicy> {
        patterns.iter().map(|pattern| rule(kind, pattern.written())).collect()
    };
    rows.extend(owned("institution_owned", &policy.institution_owned));
    rows.extend(owned("researcher_owned", &policy.researcher_owned));
    rows.extend(policy.masks.iter().map(|(pattern, why)| pair("mask", pattern.written(), why)));
    rows.extend(policy.class_names.iter().map(|(class, name)| pair("class", class, name)));
    rows.extend(by_pattern(policy.own_devices()).iter().map(|device| SitePolicy {
        value: device.name.as_deref().map(Text::from),
        family: Some(device.family.as_str().into()),
        tier: device.tier.map(|tier| tier.name().into()),
        weight: device.weight,
        memory_gb: device.memory_gb,
        hidden: Some(device.hidden),
        ..rule("device", device.patterns[0].written())
    }));
    rows.extend(policy.hidden_families.iter().map(|family| rule("hidden_family", family)));
    for (place, row) in rows.iter_mut().enumerate() {
        row.rule = place as i64;
    }
    rows
}

/// Whether two policies have the same rules, wherever they come from and whenever they apply.
pub fn is_same_policy(one: &[SitePolicy], other: &[SitePolicy]) -> bool {
    let is_same = |(one, other): (&SitePolicy, &SitePolicy)| {
        let moved = SitePolicy { valid_from: other.valid_from, ..one.clone() };
        one.kind == SitePolicy::WHOLE && other.kind == one.kind || moved.says_the_same(other)
    };
    one.len() == other.len() && one.iter().zip(other).all(is_same)
}

/// Models with one pattern each, which is the same: the first that fits counts.
pub(super) fn by_pattern(devices: &[Device]) -> Vec<Device> {
    let each = devices.iter().flat_map(|device| {
        let alone =
            |pattern: &Pattern| Device { patterns: vec![pattern.clone()], ..device.clone() };
        device.patterns.iter().map(alone)
    });
    each.collect()
}

/// The policies of a cluster, in order of time.
pub fn policies(cluster: &str, mut rows: Vec<SitePolicy>) -> Vec<(Timestamp, Judgement)> {
    rows.sort_unstable_by(|one, other| one.compare_key(other));
    let mut by_time: BTreeMap<Timestamp, Vec<SitePolicy>> = BTreeMap::new();
    for row in rows {
        by_time.entry(row.valid_from).or_default().push(row);
    }
    by_time.into_iter().map(|(time, rows)| (time, policy(cluster, rows))).collect()
}

/// A policy of its rows. Kinds that this version does not know are passed over.
fn policy(cluster: &str, rows: Vec<SitePolicy>) -> Judgement {
    let (mut policy, mut devices) = (Judgement::default(), Vec::new());
    let mut backfill = Preemptible { cluster: cluster.to_owned(), ..Preemptible::default() };
    for row in rows {
        let Some(name) = row.pattern.as_deref() else { continue };
        let value = || row.value.as_deref().unwrap_or_default().to_owned();
        let pattern = || match Pattern::new(name) {
            Ok(pattern) => Some(pattern),
            Err(error) => {
                tracing::warn!("left out of the site policy of {cluster}: {name:?} {error}");
                None
            }
        };
        match row.kind.as_str() {
            "backfill_partition" => backfill.partitions.push(name.to_owned()),
            "backfill_qos" => backfill.qos.push(name.to_owned()),
            "institution_owned" => policy.institution_owned.extend(pattern()),
            "researcher_owned" => policy.researcher_owned.extend(pattern()),
            "mask" => policy.masks.extend(pattern().map(|pattern| (pattern, value()))),
            "class" => policy.class_names.push((name.to_owned(), value())),
            "hidden_family" => policy.hidden_families.push(name.to_owned()),
            "device" => devices.extend(pattern().map(|pattern| Device {
                patterns: vec![pattern],
                name: row.value.as_deref().map(str::to_owned),
                family: row.family.as_deref().unwrap_or_default().to_owned(),
                tier: Tier::ALL.into_iter().find(|tier| Some(tier.name()) == row.tier.as_deref()),
                weight: row.weight,
                memory_gb: row.memory_gb,
                hidden: row.hidden.unwrap_or_default(),
            })),
            _ => {}
        }
    }
    if backfill.partitions.len() + backfill.qos.len() > 0 {
        policy.preemptible.push(backfill);
    }
    policy.set_own_devices(devices);
    policy
}
