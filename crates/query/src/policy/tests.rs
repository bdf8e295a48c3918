use jiff::Timestamp;

use super::*;
use crate::judgement::{Device, Pattern};

const MARCH: i64 = 1_772_323_200; // 2026-03-01
const DAY: i64 = 86_400;

fn time(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn backfill(cluster: &str, partitions: &[&str]) -> Judgement {
    let partitions = partitions.iter().map(|name| (*name).to_owned()).collect();
    let place = Preemptible { cluster: cluster.to_owned(), partitions, qos: Vec::new() };
    Judgement { preemptible: vec![place], ..Judgement::default() }
}

fn masked(machine: &str, reason: &str) -> Judgement {
    let mask = (Pattern::new(machine).unwrap(), reason.to_owned());
    Judgement { masks: vec![mask], ..Judgement::default() }
}

/// What is read back of policies that were stored for the cluster alder.
fn stored(policies: &[(i64, &Judgement)]) -> BTreeMap<String, Vec<Stored>> {
    let rows = policies.iter().flat_map(|(second, policy)| {
        policy_rows(policy, "alder", "configuration", time(*second), time(MARCH))
    });
    [("alder".to_owned(), row::policies("alder", rows.collect()))].into()
}

fn is_backfill(policies: &Policies, second: i64, partition: &str) -> bool {
    let policy = policies.at("alder", second * 1_000_000);
    policy.is_backfill("alder", None, Some(partition), None)
}

#[test]
fn a_row_is_judged_by_the_policy_of_its_time_and_before_the_first_by_the_first() {
    let (one, two) = (backfill("alder", &["scavenge"]), backfill("alder", &["preempt"]));
    let policies = Policies::new(
        &Judgement::default(),
        stored(&[(MARCH, &one), (MARCH + DAY, &two), (MARCH + 2 * DAY, &Judgement::default())]),
    );
    for (second, scavenge, preempt) in [
        (MARCH - DAY, true, false),
        (MARCH, true, false),
        (MARCH + DAY - 1, true, false),
        (MARCH + DAY, false, true),
        (MARCH + 2 * DAY, false, false),
    ] {
        assert_eq!(is_backfill(&policies, second, "scavenge"), scavenge, "{second}");
        assert_eq!(is_backfill(&policies, second, "preempt"), preempt, "{second}");
    }
    assert_eq!(policies.note(), None);
}

#[test]
fn a_policy_is_read_as_it_was_stored() {
    let device = Device {
        patterns: vec![Pattern::new("one").unwrap(), Pattern::new("/two$/").unwrap()],
        name: Some("One".to_owned()),
        family: "Ones".to_owned(),
        tier: Some(crate::Tier::Flagship),
        weight: Some(1.5),
        memory_gb: Some(48.0),
        hidden: true,
    };
    let mut policy = Judgement {
        institution_owned: vec![Pattern::new("e*").unwrap()],
        researcher_owned: vec![Pattern::new("lab1").unwrap(), Pattern::new("lab2").unwrap()],
        class_names: vec![("Shared".to_owned(), "Open".to_owned())],
        hidden_families: vec!["A30".to_owned()],
        preemptible: vec![Preemptible {
            cluster: "alder".to_owned(),
            partitions: vec!["scavenge".to_owned()],
            qos: vec!["low".to_owned()],
        }],
        ..masked("/^gpu[0-9]/", "broken fans")
    };
    policy.set_own_devices(vec![device.clone()]);
    let rows = policy_rows(&policy, "alder", "configuration", time(MARCH), time(MARCH));
    let read = row::policies("alder", rows.clone());
    let [(start, read)] = &read[..] else { panic!("{read:?}") };
    assert_eq!(*start, time(MARCH));
    assert_eq!(read.own_devices(), row::by_pattern(&[device]));
    policy.set_own_devices(row::by_pattern(policy.own_devices()));
    assert_eq!(*read, policy);
    let again = policy_rows(read, "alder", "gpureports", time(MARCH + DAY), time(MARCH + DAY));
    assert!(is_same_policy(&rows, &again));
    assert!(!is_same_policy(&rows, &again[..again.len() - 1]));
    let other = Judgement { hidden_families: vec!["A40".to_owned()], ..policy };
    let other = policy_rows(&other, "alder", "configuration", time(MARCH), time(MARCH));
    assert!(!is_same_policy(&rows, &other));
}

#[test]
fn a_readers_own_rule_overrides_the_stored_one_of_every_time_and_is_named() {
    let (one, two) = (masked("gpu1", "broken"), masked("gpu2", "broken"));
    let stored = stored(&[(MARCH, &one), (MARCH + DAY, &two)]);
    let own = Judgement { masks: masked("gpu3", "mine").masks, ..backfill("alder", &["scavenge"]) };
    let policies = Policies::new(&own, stored.clone());
    for second in [MARCH, MARCH + DAY] {
        let policy = policies.at("alder", second * 1_000_000);
        assert_eq!((policy.mask("gpu1"), policy.mask("gpu3")), (None, Some("mine")));
        assert!(is_backfill(&policies, second, "scavenge"));
    }
    assert_eq!(
        policies.note().unwrap(),
        "This reader's configuration overrides the stored site policy: backfill partitions and QOS \
         of alder, gpu.masks of alder."
    );
    // The collector's own configuration, which is the newest that is stored, rewrites nothing.
    let policies = Policies::new(&two, stored);
    assert_eq!(policies.at("alder", MARCH * 1_000_000).mask("gpu1"), Some("broken"));
    assert_eq!(policies.note(), None);
}

#[test]
fn spans_have_no_policy_of_their_own_where_all_policies_judge_machines_the_same() {
    let number = |own: &Judgement, stored| Policies::new(own, stored).number_sql();
    let none = Judgement::default();
    assert_eq!(number(&none, BTreeMap::new()), "0");
    let (one, two) = (backfill("alder", &["scavenge"]), backfill("alder", &["preempt"]));
    assert_eq!(number(&none, stored(&[(MARCH, &one), (MARCH + DAY, &two)])), "1");
    let masked = masked("gpu1", "broken");
    let varying = "policy_of(cluster, start_time)";
    assert_eq!(number(&none, stored(&[(MARCH, &one), (MARCH + DAY, &masked)])), varying);
    // So is a cluster of which there is not even a manifest.
    let one = stored(&[(MARCH, &masked)]);
    let of_known = "CASE WHEN cluster IN ('alder') THEN 1 ELSE 0 END";
    assert_eq!(number(&none, one.clone()), of_known);
    assert_eq!(number(&masked, one), "0");
    // A cluster without a stored policy is judged by the reader's own.
    let mut with_other = stored(&[(MARCH, &masked)]);
    with_other.insert("birch".to_owned(), Vec::new());
    assert_eq!(number(&none, with_other), varying);
}

#[test]
fn a_collection_stores_what_its_configuration_gives_and_leaves_the_rest() {
    let newest =
        |policy: &Judgement| policy_rows(policy, "alder", "gpureports", time(MARCH), time(MARCH));
    let imported = masked("gpu1", "broken");
    let collected = |own: &Judgement| collected_policy(own, "alder", newest(&imported));
    assert_eq!(collected(&Judgement::default()), imported);
    let own = backfill("alder", &["scavenge"]);
    assert_eq!(collected(&own), Judgement { masks: imported.masks.clone(), ..own });
    let own = masked("gpu2", "slow");
    assert_eq!(collected(&own), own);
    assert_eq!(collected_policy(&own, "alder", Vec::new()), own);
}

#[test]
fn each_cluster_is_judged_by_its_own_policy_of_now() {
    let mut of_two =
        stored(&[(MARCH, &masked("gpu1", "broken")), (MARCH + DAY, &masked("gpu2", "slow"))]);
    of_two.insert("birch".to_owned(), Vec::new());
    let policy = CurrentPolicy::new(Policies::new(&masked("gpu3", "mine"), BTreeMap::new()));
    assert_eq!(policy.of("alder").mask("gpu3"), Some("mine"));
    let policy = CurrentPolicy::new(Policies::new(&Judgement::default(), of_two));
    for (cluster, machine, expected) in [
        ("alder", "gpu1", None),
        ("alder", "gpu2", Some("slow")),
        ("birch", "gpu2", None),
        ("cedar", "gpu2", None),
    ] {
        assert_eq!(policy.of(cluster).mask(machine), expected, "{cluster} {machine}");
    }
}

#[test]
fn reports_that_rest_on_the_policy_are_known() {
    for (name, expected) in [
        ("evictions", true),
        ("gpu-usage", true),
        ("backfill-survival", true),
        ("allocations", true),
        ("wait", false),
        ("usage-by-user", false),
    ] {
        assert_eq!(concerns(crate::analysis(name).unwrap().sql), expected, "{name}");
    }
}
