use super::*;
use crate::htcondor::{CondorStatus, fixture};
use crate::parse;

fn reader() -> GpuState {
    GpuState::new("chtc", TimeZone::get("America/Chicago").unwrap())
}

/// All looks of rows that are lines of cells between `|`; `_` is null.
fn looks(names: &str, rows: &[&str]) -> (Vec<Look>, Vec<Rejected>) {
    let names: Vec<String> = names.split('|').map(str::to_owned).collect();
    assert_eq!(GpuState::missing_column(&names), None);
    let rows: Vec<Vec<&str>> = rows.iter().map(|row| row.split('|').collect()).collect();
    let mut reader = reader();
    let mut looks = Vec::new();
    // A row at a time: a look goes on over batches.
    for row in &rows {
        let cell = |_: usize, column: usize| Some(row[column]).filter(|cell| *cell != "_");
        looks.extend(reader.add(&names, 1, cell));
    }
    looks.extend(reader.end());
    (looks, reader.take_rejects())
}

const FIRST: &str = "Name|AssignedGPUs|AvailableGPUs|State|GPUs_DeviceName|GPUs_GlobalMemoryMb|\
    PrioritizedProjects|GPUsAverageUsage|Machine|RemoteOwner|GlobalJobId|timestamp";

fn sides(look: &Look) -> Vec<String> {
    let word = |text: &Option<Text>| text.clone().unwrap_or_else(|| "-".into());
    look.samples
        .iter()
        .map(|gpu| {
            format!(
                "{} {} primary {} {} {} backfill {} {} {}",
                gpu.machine,
                gpu.gpu_id,
                word(&gpu.primary_slot),
                word(&gpu.primary_state),
                word(&gpu.primary_user),
                word(&gpu.backfill_slot),
                word(&gpu.backfill_state),
                word(&gpu.backfill_user),
            )
        })
        .collect()
}

/// A machine with three GPUs: one is used by its owner, one by backfill, one by nobody.
#[test]
fn the_rows_of_one_gpu_are_its_two_sides() {
    let (looks, rejects) = looks(
        FIRST,
        &[
            "slot1@g1|GPU-aa|GPU_bb,GPU_cc|Unclaimed|NVIDIA H200|143771|Lab|_|g1|_|_|2025-08-14 12:00:00.5",
            "slot1@g1|GPU-bb|GPU_bb,GPU_cc|Unclaimed|NVIDIA H200|143771|Lab|_|g1|_|_|2025-08-14 12:00:00.5",
            "slot1@g1|GPU-cc|GPU_bb,GPU_cc|Unclaimed|NVIDIA H200|143771|Lab|_|g1|_|_|2025-08-14 12:00:00.5",
            "slot1_1@g1|GPU-aa|GPU_aa|Claimed|NVIDIA H200|143771|Lab|0.5|g1|ann@example.org|ap1#7.0#1755100000|2025-08-14 12:00:00.5",
            "backfill2@g1|GPU-cc|GPU_cc|Unclaimed|NVIDIA H200|143771|_|_|g1|_|_|2025-08-14 12:00:00.5",
            "backfill2_1@g1|gpu_BB|GPU_bb|Claimed|NVIDIA H200|143771|_|75.0|g1|bob@example.org|ap1#8.0#1755100000|2025-08-14 12:00:00.5",
            "slot1@g2|_|_|Owner|_|_|_|_|_|_|_|2025-08-14 12:05:00.25",
        ],
    );
    assert_eq!(rejects, []);
    let [first, second] = &looks[..] else { panic!("{looks:?}") };
    assert_eq!(first.time.to_string(), "2025-08-14T17:00:00.5Z");
    assert_eq!(
        sides(first),
        [
            "g1 GPU-aa primary slot1_1 Claimed ann backfill - - -",
            "g1 GPU-bb primary slot1 Unclaimed - backfill backfill2_1 Claimed bob",
            "g1 GPU-cc primary slot1 Unclaimed - backfill backfill2 Unclaimed -",
        ]
    );
    let [aa, bb, _] = &first.samples[..] else { panic!("{first:?}") };
    assert_eq!((aa.primary_job_id.as_deref(), aa.use_ratio), (Some("ap1#7.0"), Some(0.5)));
    assert_eq!((bb.backfill_job_id.as_deref(), bb.use_ratio), (Some("ap1#8.0"), None));
    assert_eq!(
        (aa.device_name.as_deref(), aa.device_memory_mb),
        (Some("NVIDIA H200"), Some(143771))
    );
    assert_eq!(
        (aa.prioritized_projects.as_deref(), aa.prevent_reason.as_deref()),
        (Some("Lab"), None)
    );
    // A look at slots without GPUs is a look.
    assert_eq!(
        (second.time.to_string().as_str(), second.samples.len()),
        ("2025-08-14T17:05:00.25Z", 0)
    );
}

/// The columns of August 2026, in another order and with one that nobody knows.
#[test]
fn columns_are_found_by_name() {
    let (looks, rejects) = looks(
        "timestamp|Machine|Later|Name|State|AssignedGPUs|PreventJobsReason|Disk|PrioritizedProjects",
        &["2026-08-19T14:00:00|g1|x|slot1@g1|Owner|MIG_0c5e_2e0f|INF-1|123|"],
    );
    assert_eq!(rejects, []);
    let gpu = &looks[0].samples[0];
    assert_eq!((&*gpu.gpu_id, gpu.prevent_reason.as_deref()), ("MIG-0c5e-2e0f", Some("INF-1")));
    // A blank says that nobody comes first, which is known.
    assert_eq!(gpu.prioritized_projects.as_deref(), Some(""));
    let names = ["timestamp", "Name", "State"].map(str::to_owned);
    assert_eq!(GpuState::missing_column(&names), Some("AssignedGPUs"));
}

#[test]
fn what_cannot_be_read_is_set_aside() {
    let (looks, rejects) = looks(
        "timestamp|Name|State|AssignedGPUs|GPUs_GlobalMemoryMb",
        &[
            "2026-03-08 01:55:00|slot1@g1|Unclaimed|GPU-aa|1024",
            "2026-03-08 01:55:00|_|Unclaimed|GPU-bb|1024",
            "2026-03-08 01:55:00|slot2@g1|Unclaimed|GPU-cc|many",
            // An hour that did not come, and no time at all: once for all their rows.
            "2026-03-08 02:30:00|slot1@g1|Unclaimed|GPU-aa|1024",
            "2026-03-08 02:30:00|slot2@g1|Unclaimed|GPU-bb|1024",
            "_|slot1@g1|Unclaimed|GPU-aa|1024",
            "2026-03-08 03:00:00|slot1@g1|Unclaimed|GPU-aa|1024",
        ],
    );
    assert_eq!(
        rejects.iter().map(|reject| (reject.position, &*reject.reason)).collect::<Vec<_>>(),
        [
            (2, "the row names no slot"),
            (3, "a number cannot be read"),
            (4, "America/Chicago has no 2026-03-08T02:30:00"),
            (6, "\"\" is no time"),
        ]
    );
    assert_eq!(
        rejects[1].text,
        "timestamp=2026-03-08 01:55:00 Name=slot2@g1 AssignedGPUs=GPU-cc State=Unclaimed GPUs_GlobalMemoryMb=many"
    );
    // 01:55 and 03:00 are five minutes apart.
    let times: Vec<String> = looks.iter().map(|look| look.time.to_string()).collect();
    assert_eq!(times, ["2026-03-08T07:55:00Z", "2026-03-08T08:00:00Z"]);
    assert!(looks.iter().all(|look| look.samples.len() == 1));
}

/// What gpureports would have kept of a real pool's answers says what the answers say.
#[test]
fn a_real_pool_is_seen_as_condor_status_shows_it() {
    let mut compared = 0;
    for snapshot in ["2026-11-15T031205Z", "2026-11-15T032605Z", "2026-11-15T033505Z"] {
        let text = fixture::read(&format!("{snapshot}/status_wide.json"));
        let ads: Vec<serde_json::Value> = serde_json::from_slice(&text).unwrap();
        let mut rows: Vec<Vec<Option<String>>> = Vec::new();
        for ad in ads.iter().filter(|ad| ad["GPUs"].as_i64() >= Some(1)) {
            let word = |name: &str| match &ad[name] {
                serde_json::Value::String(text) => Some(text.clone()),
                serde_json::Value::Null => None,
                number => Some(number.to_string()),
            };
            let available: Vec<String> = ad["AvailableGPUs"]
                .as_array()
                .unwrap()
                .iter()
                .map(|gpu| {
                    let gpu = gpu.as_str().unwrap().trim_start_matches("/Expr(GPUs_");
                    gpu.trim_end_matches(")/").replace('_', "-")
                })
                .collect();
            let available = available.join(",");
            let name = word("Name").unwrap();
            let assigned = if name.contains("backfill") {
                available.clone()
            } else {
                word("AssignedGPUs").unwrap()
            };
            for gpu in assigned.split(',') {
                rows.push(vec![
                    Some("2026-11-15 00:00:00".to_owned()),
                    Some(name.clone()),
                    word("Machine"),
                    Some(gpu.to_owned()),
                    Some(available.clone()),
                    word("State"),
                    word("GPUs_DeviceName"),
                    word("GPUs_GlobalMemoryMb"),
                    word("PrioritizedProjects"),
                    word("GPUsAverageUsage"),
                    word("RemoteOwner"),
                    word("GlobalJobId"),
                    word("PreventJobsReason"),
                ]);
            }
        }
        let mut names: Vec<String> = COLUMNS.map(str::to_owned).to_vec();
        names.push(PREVENT_JOBS_REASON.to_owned());
        let mut reader = reader();
        let none = reader.add(&names, rows.len(), |row, column| rows[row][column].as_deref());
        assert_eq!((none, reader.take_rejects()), (Vec::new(), Vec::new()));
        let kept = reader.end().unwrap();

        let asked = parse(CondorStatus::new("chtc", kept.time), &text).records;
        assert_eq!(kept.samples.len(), asked.len(), "{snapshot}");
        for (kept, asked) in kept.samples.into_iter().zip(asked) {
            // It asked neither for the capability nor whether a machine drains. The JSON of this
            // test is read with less care than ours: the last digit of a number may differ.
            let digits = |ratio: Option<f64>| ratio.map(|ratio| format!("{ratio:.6}"));
            assert_eq!(digits(kept.use_ratio), digits(asked.use_ratio));
            let is_drained = asked.primary_state.as_deref() == Some("Drained");
            let availability = kept.availability.clone();
            let expected =
                GpuSample { capability: None, use_ratio: kept.use_ratio, availability, ..asked };
            if !is_drained {
                // A machine whose jobs come to an end cannot be told from one that takes more.
                assert!([None, Some("prevented")].contains(&kept.availability.as_deref()));
                assert_eq!(kept, expected, "{snapshot}");
                compared += 1;
            }
        }
    }
    assert!(compared > 80, "{compared}");
}
