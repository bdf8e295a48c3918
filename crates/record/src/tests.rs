use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};

use crate::*;

fn reject() -> Reject {
    Reject {
        cluster: "maple".into(),
        source: "sacct".into(),
        time: "2026-01-02T03:04:05Z".parse().unwrap(),
        position: 7,
        reason: "3 fields, expected 40".into(),
        text: "a|b|c".into(),
    }
}

#[test]
fn rows_come_back_from_their_batch() {
    let rows = vec![reject(), Reject { position: 8, ..reject() }];
    let batch = Reject::to_batch(&rows.iter().collect::<Vec<_>>());
    assert_eq!(Reject::from_batch("maple", &batch), Ok(rows));
}

#[test]
fn a_column_that_an_old_file_lacks_is_unknown_and_one_from_the_future_is_passed_over() {
    let full = NodeSpan::to_batch(&[&NodeSpan {
        cluster: "maple".into(),
        node: "gpu01".into(),
        start_time: "2026-01-02T00:00:00Z".parse().unwrap(),
        end_time: "2026-01-02T01:00:00Z".parse().unwrap(),
        last_seen_time: "2026-01-02T00:55:00Z".parse().unwrap(),
        samples: 12,
        state: "MIXED".into(),
        reason: None,
        reason_user: None,
        reason_time: None,
        partitions: None,
        reservation: None,
        cpus: Some(16),
        effective_cpus: None,
        alloc_cpus: Some(4),
        memory_mb: None,
        alloc_memory_mb: None,
        gpus: Some(4),
        alloc_gpus: Some(1),
        gpu_types: Some("a100=4".into()),
        alloc_gpu_types: None,
    }]);
    let kept: Vec<usize> = (0..full.num_columns())
        .filter(|index| {
            !["gpus", "gpu_types"].contains(&full.schema().field(*index).name().as_str())
        })
        .collect();
    let old = full.project(&kept).unwrap();
    let mut columns: Vec<(&str, ArrayRef)> = Vec::new();
    let schema = old.schema();
    for (field, column) in schema.fields().iter().zip(old.columns()) {
        columns.push((field.name(), column.clone()));
    }
    columns.push(("colour", Arc::new(StringArray::from(vec!["green"])) as ArrayRef));
    let both = RecordBatch::try_from_iter(columns).unwrap();

    let rows = NodeSpan::from_batch("maple", &both).unwrap();

    assert_eq!(rows.len(), 1);
    assert_eq!((rows[0].gpus, rows[0].gpu_types.as_deref()), (None, None));
    assert_eq!((rows[0].cpus, rows[0].alloc_gpus), (Some(16), Some(1)));
}

#[test]
fn a_required_column_that_is_missing_is_an_error_that_names_it() {
    let batch =
        RecordBatch::try_from_iter([("position", Arc::new(Int64Array::from(vec![1])) as ArrayRef)])
            .unwrap();
    let error = Reject::from_batch("maple", &batch).unwrap_err();
    assert_eq!(error, "column source: a required value is missing");
}

#[test]
fn every_table_has_its_key_sort_and_moment_among_its_columns() {
    for table in TABLES {
        let names: Vec<&str> = table.columns.iter().map(|column| column.name).collect();
        for name in table.key.iter().chain(table.sort).chain([&table.moment]) {
            assert!(names.contains(name), "{} has no column {name}", table.name);
        }
    }
}

/// 2 CPUs for 3,600 s is 7,200 CPU-seconds, of which 1,800 were used: 25 %. 1,024 of 4,096 MiB
/// is 25 % too, and 3 GiB for one hour were asked for in vain.
#[test]
fn usage_follows_the_known_formulas() {
    let usage = Usage::of(Some(3600), Some(2), Some(4096.0), Some(3), Some(1800.0), Some(1024.0));
    assert_eq!(
        usage,
        Usage {
            cpu_efficiency: Some(25.0),
            memory_efficiency: Some(25.0),
            cpu_hours_wasted: Some(1.5),
            memory_gb_hours_wasted: Some(3.0),
            cpu_hours_reserved: Some(2.0),
            memory_gb_hours_reserved: Some(4.0),
            gpu_hours_reserved: Some(3.0),
        }
    );
}

#[test]
fn what_was_not_measured_is_not_inefficient() {
    let usage = Usage::of(Some(3600), Some(2), Some(4096.0), None, None, None);
    assert_eq!(usage.cpu_efficiency, None);
    assert_eq!(usage.memory_efficiency, None);
    assert_eq!(usage.cpu_hours_wasted, None);
    assert_eq!(usage.gpu_hours_reserved, None);
    assert_eq!(usage.cpu_hours_reserved, Some(2.0));
}

#[test]
fn a_state_that_nobody_knows_is_not_final() {
    assert!(is_final_state("COMPLETED"));
    assert!(!is_final_state("RUNNING"));
    assert!(!is_final_state("TELEPORTING"));
}

/// A column that a sample gets and a span does not would be lost when its day is over.
#[test]
fn a_gpu_span_has_every_column_of_a_sample() {
    let names = |table: &Table, without: &[&str]| -> Vec<&str> {
        let names = table.columns.iter().map(|column| column.name);
        names.filter(|name| !without.contains(name)).collect()
    };
    let span_only =
        ["start_time", "end_time", "samples", "mean_use_ratio", "carry_until", "carry_use_ratio"];
    assert_eq!(
        names(&GpuSpan::TABLE, &span_only),
        names(&GpuSample::TABLE, &["time", "use_ratio"])
    );
}
