use super::*;

/// Two nodes, one of them down; jobs that run and wait; a source that answered, one that did not.
const LIVE: &str = r#"{
    "cluster": "maple", "scheduler": "slurm", "cadence_seconds": 300,
    "nodes": { "time": "2026-01-01T12:00:00Z", "rows": [
        { "node": { "cluster": "maple", "node": "n1", "state": "MIXED", "cpus": 8, "alloc_cpus": 2,
            "gpus": 4, "alloc_gpus": 1, "memory_mb": 1024, "start_time": "2026-01-01T00:00:00Z",
            "end_time": "2026-01-01T12:10:00Z", "last_seen_time": "2026-01-01T12:00:00Z",
            "samples": 1 }, "cpu_load": 1.5 },
        { "node": { "cluster": "maple", "node": "n2", "state": "DOWN", "cpus": 8, "alloc_cpus": 0,
            "reason": "disk", "reason_time": "2026-01-01T10:00:00Z",
            "start_time": "2026-01-01T10:00:00Z", "end_time": "2026-01-01T12:10:00Z",
            "last_seen_time": "2026-01-01T12:00:00Z", "samples": 1 } }
    ] },
    "jobs": { "time": "2026-01-01T12:00:00Z", "rows": [
        { "state": "RUNNING", "user": "ann", "jobs": 3, "cpus": 2, "gpus": 1 },
        { "state": "PENDING", "user": "bob", "reason": "Priority", "jobs": 10, "cpus": 40 }
    ] },
    "sources": [
        { "source": "sacct", "success_time": "2026-01-01T10:00:00Z", "commands": 9, "failures": 1,
          "error": "timed out" },
        { "source": "squeue", "success_time": "2026-01-01T12:00:00Z", "commands": 9, "rejects": 2,
          "last_time": "2026-01-01T12:00:00Z" }
    ]
}"#;

/// A look's rows a minute after, as people read them, the columns apart by bars.
fn check(look: &Look, expected: &[&str]) {
    let live: Live = serde_json::from_str(LIVE).unwrap();
    let rows = (look.rows)(&[&live], "2026-01-01T12:01:00Z".parse().unwrap());
    let shown: Vec<String> = rows
        .iter()
        .map(|row| {
            assert_eq!(row.len(), look.columns.len());
            let cells = look.columns.iter().zip(row).map(|(column, value)| match value {
                Value::Time(time) => time.to_string(),
                value => column.unit.show(value, &TimeZone::UTC),
            });
            cells.collect::<Vec<_>>().join("|")
        })
        .collect();
    assert_eq!(shown, expected);
}

#[test]
fn a_cluster_is_the_sum_of_its_nodes_and_jobs() {
    check(&clusters::LOOK, &["maple|slurm|2|1|16|2|4|1|3|10|2026-01-01T12:00:00Z"]);
}

#[test]
fn a_pool_of_which_no_node_was_seen_has_the_gpus_that_were() {
    let live: Live = serde_json::from_str(
        r#"{ "cluster": "birch", "scheduler": "htcondor",
             "gpus": { "time": "2026-01-01T12:00:00Z", "rows": [
                 { "primary_state": "Claimed", "gpus": 3 },
                 { "primary_state": "Unclaimed", "backfill_state": "Claimed", "gpus": 2 },
                 { "primary_state": "Unclaimed", "gpus": 4 } ] } }"#,
    )
    .unwrap();
    let row = &(clusters::LOOK.rows)(&[&live], Timestamp::UNIX_EPOCH)[0];
    assert_eq!(row[2], Value::Unknown);
    assert_eq!(row[6..8], [Value::Integer(9), Value::Integer(5)]);
}

#[test]
fn nodes_that_take_no_jobs_come_first() {
    check(
        &nodes::LOOK,
        &[
            "maple|n2|DOWN|8|0|-|-|-|-|-|-|-|disk|2026-01-01T10:00:00Z",
            "maple|n1|MIXED|8|2|1.5|1.0 GiB|-|4|1|-|-|-|-",
        ],
    );
}

#[test]
fn who_waits_comes_before_who_runs() {
    check(
        &queue::LOOK,
        &["maple|PENDING|Priority|bob|-|-|10|40|-|-", "maple|RUNNING|-|ann|-|-|3|2|1|-"],
    );
}

#[test]
fn sources_say_whether_they_are_fresh() {
    check(
        &sources::LOOK,
        &[
            "maple|sacct|no|2026-01-01T10:00:00Z|-|-|-|-|9|1|0.0|timed out",
            "maple|squeue|yes|2026-01-01T12:00:00Z|-|-|-|2|9|0|0.0|-",
        ],
    );
}

#[test]
fn what_needs_attention_is_told_with_its_reason() {
    check(
        &attention::LOOK,
        &[
            "maple|2 pieces set aside|squeue|could not be read; the report rejects shows them|2026-01-01T12:00:00Z",
            "maple|1 source not fresh|sacct|timed out|2026-01-01T10:00:00Z",
            "maple|1 node down|n2|disk|2026-01-01T10:00:00Z",
        ],
    );
}
