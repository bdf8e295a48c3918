//! What counts as backfill, who owns machines and which are masked is stored with the data.

use std::fs;

use serde_json::Value;

use crate::demo::DEMO;
use crate::program::{Said, plimsoll};

const PERIOD: [&str; 4] = ["--from", "2026-03-05T00:00:00Z", "--to", "2026-03-08T00:00:00Z"];

/// A report of the demo by the program in a folder, with whatever configuration is there.
fn report(folder: &std::path::Path, name: &str, options: &[&str], format: &str) -> Said {
    let demo = DEMO.folder.path().join("plimsoll-demo");
    let mut words = vec!["--data-dir", demo.to_str().unwrap(), "report", name];
    words.extend(options.iter().chain(&PERIOD));
    words.extend(["--format", format]);
    let said = plimsoll(folder, &words);
    assert_eq!((said.status, said.stderr.as_str()), (0, ""), "{name}");
    said
}

fn json(said: &Said) -> Value {
    serde_json::from_str(&said.stdout).unwrap()
}

const REPORTS: [(&str, &[&str]); 5] = [
    ("evictions", &["--by", "cluster"]),
    ("backfill-survival", &["--by", "cluster"]),
    ("backfill-summary", &[]),
    ("gpu-usage", &[]),
    ("gpu-machines", &[]),
];

#[test]
fn a_reader_without_the_configuration_gets_the_same_numbers() {
    let empty = tempfile::tempdir().unwrap();
    let demo = DEMO.folder.path().join("plimsoll-demo");
    for (name, options) in REPORTS {
        let with = json(&report(&demo, name, options, "json"));
        let without = json(&report(empty.path(), name, options, "json"));
        assert!(!with["rows"].as_array().unwrap().is_empty(), "{name}");
        assert_eq!(with["rows"], without["rows"], "{name}");
        assert_eq!(with["notes"], without["notes"], "{name}");
    }
    // Attempts that SLURM preempted in the configured partition, as the job history tells them.
    let preempted = "SELECT count(*) AS count FROM job WHERE cluster = 'alder' AND partition = 'preempt' \
        AND state = 'PREEMPTED' AND alloc_gpus > 0 AND end_time > '2026-03-05T00:00:00Z' \
        AND end_time <= '2026-03-08T00:00:00Z'";
    let said = plimsoll(
        empty.path(),
        &["--data-dir", demo.to_str().unwrap(), "sql", preempted, "--format", "json"],
    );
    let preempted = json(&said)["rows"][0]["count"].clone();
    let evictions = json(&report(empty.path(), "evictions", &["--by", "cluster"], "json"));
    let alder = evictions["rows"].as_array().unwrap().iter().find(|row| row["by"] == "alder");
    let evicted = alder.map(|row| row["evicted"].clone());
    assert!(preempted.as_i64().unwrap() > 0);
    assert_eq!(evicted, Some(preempted), "{evictions}");
}

#[test]
fn an_override_of_the_stored_policy_is_named_in_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let other = "[[cluster]]\nname = \"alder\"\nkind = \"slurm\"\nbackfill_partitions = [\"gpu\"]\n\n\
                 [gpu.masks]\n\"*\" = \"all of them\"\n";
    fs::write(folder.path().join("plimsoll.toml"), other).unwrap();
    let note = "overrides the stored site policy: backfill partitions and QOS of alder, gpu.masks of \
                alder, gpu.masks of tamarack.";
    for format in ["text", "json", "markdown", "html"] {
        let said = report(folder.path(), "evictions", &[], format).stdout;
        let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(note), "{format}: {said}");
    }
    // What does not depend on the policy has no such note.
    let said = report(folder.path(), "usage-by-user", &[], "text").stdout;
    assert!(!said.contains("overrides"), "{said}");
}

#[test]
fn a_corrected_policy_can_be_stored_for_an_earlier_time() {
    let folder = tempfile::tempdir().unwrap();
    let words = ["demo", "--days", "1", "--until", "2026-03-08", "--seed", "7"];
    assert_eq!(plimsoll(folder.path(), &words).status, 0);
    let demo = folder.path().join("plimsoll-demo");
    let stored = |cluster: &str| -> Vec<String> {
        let words = ["policy", "list", "--cluster", cluster, "--format", "csv"];
        let said = plimsoll(&demo, &words);
        assert_eq!((said.status, said.stderr.as_str()), (0, ""));
        let backfill = said.stdout.lines().filter(|line| line.contains("backfill"));
        backfill.map(|line| line.split(',').take(4).collect::<Vec<_>>().join(",")).collect()
    };
    assert_eq!(stored("alder"), ["alder,2026-03-08T00:00:00Z,backfill_partition,preempt"]);
    let file = demo.join("plimsoll.toml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("[\"preempt\"]", "[\"preempt\", \"short\"]")).unwrap();
    let said =
        plimsoll(&demo, &["policy", "set", "--from", "2026-03-07T12:00", "--cluster", "alder"]);
    assert_eq!(said.status, 0, "{}", said.stderr);
    assert!(
        said.stderr.contains("from 2026-03-07 12:00 UTC on; 1 later policies removed"),
        "{}",
        said.stderr
    );
    assert_eq!(
        stored("alder"),
        [
            "alder,2026-03-07T12:00:00Z,backfill_partition,preempt",
            "alder,2026-03-07T12:00:00Z,backfill_partition,short",
        ]
    );
    let said = plimsoll(&demo, &["policy", "set", "--from", "2099-01-01"]);
    assert_eq!(said.status, 2);
    assert!(said.stderr.contains("is in the future"), "{}", said.stderr);
}
