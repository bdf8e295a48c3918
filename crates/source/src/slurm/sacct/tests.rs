use proptest::prelude::*;

use super::*;
use crate::parsed::parse;

/// The columns of the cases below, JobName last as in the command.
const HEADER: &str =
    "JobID|JobIDRaw|State|Submit|Start|End|ElapsedRaw|NodeList|MaxRSS|TotalCPU|JobName";

fn fixture(name: &str) -> Vec<u8> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/slurm-22.05/");
    std::fs::read(format!("{folder}{name}")).unwrap()
}

fn second(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn parsed(text: impl AsRef<[u8]>) -> Parsed<Job> {
    parse(Sacct::new("maple", second(1_794_709_300)), text.as_ref())
}

/// The one row of a job, all its cells but those given as they are for most.
fn one(cells: &[(&str, &str)]) -> Job {
    let mut all = vec![("JobID", "1"), ("State", "COMPLETED"), ("Submit", "10"), ("Start", "20")];
    all.extend([("End", "120"), ("ElapsedRaw", "100"), ("NodeList", "cpu01")]);
    for cell in cells {
        all.retain(|(name, _)| *name != cell.0);
        all.push(*cell);
    }
    let (names, values): (Vec<&str>, Vec<&str>) = all.into_iter().unzip();
    let mut parsed = parsed(format!("{}|JobName\n{}|x\n", names.join("|"), values.join("|")));
    assert_eq!(parsed.rejects, []);
    assert_eq!(parsed.records.len(), 1);
    parsed.records.remove(0)
}

fn recorded(name: &str, job_id: &str) -> Vec<Job> {
    parsed(fixture(name)).records.into_iter().filter(|job| job.job_id == job_id).collect()
}

fn rejects(parsed: &Parsed<Job>) -> Vec<(u64, &str)> {
    parsed.rejects.iter().map(|reject| (reject.position, reject.reason.as_str())).collect()
}

/// Each job as its id and its name.
fn names(parsed: &Parsed<Job>) -> Vec<(&str, &str)> {
    parsed
        .records
        .iter()
        .map(|job| (job.job_id.as_str(), job.job_name.as_deref().unwrap()))
        .collect()
}

#[test]
fn the_command_asks_for_a_day() {
    let offered = Offered::read(&fixture("sacct-fields.txt")).unwrap();
    let (start, end) = (second(1_794_614_400), second(1_794_700_800));
    let day = sacct(start, end, &offered, None);
    assert_eq!(day.program, "sacct");
    assert_eq!(day.time_limit, Duration::from_secs(600));
    assert_eq!(
        day.arguments,
        [
            "--allusers",
            "--duplicates",
            "--noconvert",
            "--parsable2",
            "--delimiter=\u{1f}",
            "--local",
            "--starttime=2026-11-14T00:00:00",
            "--endtime=2026-11-15T00:00:00",
            "--format=JobID,JobIDRaw,Cluster,User,Group,Account,Partition,QOS,State,ExitCode,\
             Submit,Eligible,Start,End,ElapsedRaw,Suspended,TimelimitRaw,AllocNodes,AllocCPUS,\
             AllocTRES,ReqNodes,ReqCPUS,ReqMem,ReqTRES,NodeList,NTasks,MaxRSS,TotalCPU,\
             TRESUsageInTot,ConsumedEnergyRaw,Reason,Reservation,AdminComment,JobName",
        ]
    );
    let birch = sacct(start, end, &offered, Some("birch")).arguments;
    assert_eq!(birch[5], "--clusters=birch");
    assert_eq!((&birch[..5], &birch[6..]), (&day.arguments[..5], &day.arguments[6..]));
}

#[test]
fn every_column_that_is_read_is_asked_for() {
    let mut fields = FIELDS.to_vec();
    // Asked for in the past; text that was kept from then is still read.
    fields.push("TRESUsageInMax");
    let columns = format!("{:?}", Columns::of(&fields));
    assert!(!columns.contains("None"), "{columns}");
}

/// What is expected here was computed by a Python script that knows nothing of this parser: it
/// joins lines up to 109 cells and adds up ElapsedRaw × AllocCPUS, ElapsedRaw × `gres/gpu` and
/// TotalCPU over the job rows with a node list. Its 4486 CPU seconds hold 2 twice, those of job 92
/// before its change of size.
#[test]
fn a_whole_recording_is_read() {
    let parsed = parsed(fixture("sacct-all-unit-separator.txt"));
    let jobs = &parsed.records;
    assert_eq!(jobs.len(), 98);
    let states = |state: &str| jobs.iter().filter(|job| job.state == state).count();
    assert_eq!(states("COMPLETED"), 65);
    assert_eq!(states("FAILED"), 10);
    assert_eq!(states("PENDING"), 5);
    assert_eq!(states("PREEMPTED"), 4);
    assert_eq!(states("RUNNING"), 4);
    assert_eq!(states("CANCELLED"), 2);
    assert_eq!(states("RESIZED"), 1);

    let sum = |value: fn(&Job) -> Option<f64>| jobs.iter().filter_map(value).sum::<f64>();
    assert!((sum(|job| job.cpu_hours_reserved) * 3600.0 - 4484.0).abs() < 1e-6);
    assert!((sum(|job| job.gpu_hours_reserved) * 3600.0 - 677.0).abs() < 1e-6);
    assert!((sum(|job| job.total_cpu_seconds) - 18.184).abs() < 1e-9);

    // Job 57 is named with the delimiter, and its name is not the last column here.
    assert_eq!(
        rejects(&parsed),
        [
            (192, "the row has too many cells"),
            (193, "a step without its job"),
            (194, "a step without its job"),
        ]
    );
}

/// By the same script: nine rows hold a bare `|` in a name, a comment or a folder.
#[test]
fn a_recording_with_a_delimiter_that_people_use_loses_only_their_rows() {
    for name in ["sacct-all-duplicates.psv", "sacct-all-noconvert.psv"] {
        let parsed = parsed(fixture(name));
        assert_eq!(parsed.records.len(), 92);
        let lines = |reason| {
            let with = parsed.rejects.iter().filter(|reject| reject.reason == reason);
            with.map(|reject| reject.position).collect::<Vec<_>>()
        };
        assert_eq!(lines("the row has too many cells"), [31, 46, 73, 136, 210, 213, 221, 223, 291]);
        assert_eq!(
            lines("a step without its job"),
            [32, 33, 74, 75, 76, 137, 138, 211, 212, 216, 217, 222, 292, 293]
        );
        assert_eq!(parsed.rejects.len(), 23);
    }
}

/// The recording as the command of this module would have printed it: its own columns, JobName
/// last. Job 57 comes out too, and nothing else changes.
#[test]
fn a_recording_with_the_name_last_is_read_whole() {
    let text = String::from_utf8(fixture("sacct-all-unit-separator.txt")).unwrap();
    let width = text.lines().next().unwrap().matches('\x1f').count();
    let mut rows: Vec<String> = Vec::new();
    for line in text.split_terminator('\n') {
        match rows.last_mut() {
            Some(row) if row.matches('\x1f').count() < width => {
                row.push('\n');
                row.push_str(line);
            }
            _ => rows.push(line.to_owned()),
        }
    }
    let header: Vec<String> = rows[0].split('\x1f').map(str::to_owned).collect();
    let mut table = String::new();
    for row in rows {
        // The name of job 57 is there twice: as itself, and in the line that submitted it.
        let row = row.replace("unit\x1fseparator", "unit?separator");
        let cells: Vec<&str> = row.split('\x1f').collect();
        let places = FIELDS.map(|field| header.iter().position(|name| name == field).unwrap());
        let row = places.map(|place| cells[place]).join("\x1f");
        table.push_str(&row.replace("unit?separator", "unit\x1fseparator"));
        table.push('\n');
    }

    let mut whole = parsed(&table);
    assert_eq!(whole.rejects, []);
    assert_eq!(whole.records.len(), 99);
    let found = whole.records.iter().position(|job| job.job_id == "57").unwrap();
    assert_eq!(whole.records.remove(found).job_name.unwrap(), "unit\x1fseparator");
    assert_eq!(whole.records, parsed(&text).records);
    let name_of = |id: &str| {
        whole.records.iter().find(|job| job.job_id == id).and_then(|job| job.job_name.as_deref())
    };
    assert_eq!(name_of("39"), Some("new\nline"));
}

#[test]
fn an_ordinary_job_is_read_with_all_its_numbers() {
    let [job] = &recorded("sacct-all-noconvert.psv", "7")[..] else { panic!() };
    assert_eq!(job.user.as_deref(), Some("alice"));
    assert_eq!(job.unix_group.as_deref(), Some("alice"));
    assert_eq!(job.account.as_deref(), Some("physics"));
    assert_eq!(job.partition.as_deref(), Some("cpu"));
    assert_eq!(job.qos.as_deref(), Some("normal"));
    assert_eq!(job.reason, None);
    assert_eq!(job.job_name.as_deref(), Some("burn-1-of-4"));
    assert!(job.is_complete);
    assert_eq!((job.exit_code, job.exit_signal), (Some(0), Some(0)));
    // sacct-epoch.psv has 1794709179 for 2026-11-15T02:19:39.
    assert_eq!(job.submit_time, second(1_794_709_179));
    assert_eq!(job.start_time, Some(second(1_794_709_180)));
    assert_eq!(job.end_time, Some(second(1_794_709_205)));
    assert_eq!(job.time_limit_seconds, Some(600));
    assert_eq!(job.elapsed_seconds, Some(25));
    assert_eq!(job.node_list.as_deref(), Some("cpu01"));
    assert_eq!((job.alloc_nodes, job.alloc_cpus, job.alloc_gpus), (Some(1), Some(4), Some(0)));
    assert_eq!((job.req_nodes, job.req_cpus, job.req_gpus), (Some(1), Some(4), Some(0)));
    assert_eq!((job.alloc_mem_mb, job.req_mem_mb), (Some(2048.0), Some(2048.0)));
    // 3.405 s of 25 s × 4 CPUs; 8892416 bytes, those of `batch` and not the 1.5 MB of `extern`.
    assert_eq!(job.total_cpu_seconds, Some(3.405));
    assert_eq!(job.cpu_efficiency, Some(3.405));
    assert_eq!(job.max_rss_mb, Some(8_892_416.0 / 1_048_576.0));
    assert_eq!(job.cpu_hours_reserved, Some(100.0 / 3600.0));
    assert_eq!(job.gpu_hours_reserved, Some(0.0));
    assert_eq!(job.energy_joules, None);
}

#[test]
fn bytes_and_kibibytes_are_the_same_memory() {
    // 429789184 bytes are 419716 KiB are 409.87890625 MiB.
    for name in ["sacct-all-noconvert.psv", "sacct-all-duplicates.psv"] {
        let [job] = &recorded(name, "10")[..] else { panic!() };
        assert_eq!(job.max_rss_mb, Some(409.878_906_25));
    }
}

#[test]
fn a_preempted_run_and_the_next_are_two_attempts() {
    let [first, second_run] = &recorded("sacct-all-duplicates.psv", "4")[..] else { panic!() };
    assert_eq!(first.state, "PREEMPTED");
    assert!(first.is_complete);
    assert_eq!(first.gpu_types.as_deref(), Some("h100=2"));
    assert_eq!(first.gpu_hours_reserved, Some(2.0 * 71.0 / 3600.0));
    assert_eq!(first.total_cpu_seconds, Some(3.392));
    assert_eq!(second_run.state, "COMPLETED");
    assert_eq!(second_run.total_cpu_seconds, Some(0.539));
    // Its submit is the moment of the eviction, by which the two are told apart.
    assert_eq!(Some(second_run.submit_time), first.end_time);
    assert_eq!((first.attempt, second_run.attempt), (0, 0));
}

#[test]
fn rows_with_one_submit_time_are_numbered() {
    let table = format!(
        "{HEADER}\n5|5|NODE_FAIL|10|20|30|10|a|||x\n6|6|COMPLETED|10|20|30|10|a|||x\n\
         5|5|COMPLETED|10|40|50|10|a|||x\n5|5|COMPLETED|30|40|50|10|a|||x\n"
    );
    let attempts: Vec<i64> = parsed(table).records.iter().map(|job| job.attempt).collect();
    assert_eq!(attempts, [0, 0, 1, 0]);
}

#[test]
fn a_requeued_job_waits_again_and_holds_nothing() {
    let [first, waiting] = &recorded("sacct-all-duplicates.psv", "88")[..] else { panic!() };
    assert_eq!((first.state.as_str(), first.is_complete), ("REQUEUED", true));
    assert_eq!(first.total_cpu_seconds, Some(0.005));
    assert_eq!((waiting.state.as_str(), waiting.is_complete), ("PENDING", false));
    assert_eq!(waiting.reason.as_deref(), Some("JobHeldUser"));
    assert_eq!((waiting.start_time, waiting.elapsed_seconds), (None, None));
    assert_eq!((waiting.exit_code, waiting.exit_signal), (None, None));

    // Job 91 even prints, while it waits, that it was allocated a CPU.
    let [_, waiting] = &recorded("sacct-all-duplicates.psv", "91")[..] else { panic!() };
    assert_eq!((waiting.alloc_nodes, waiting.alloc_cpus, waiting.alloc_gpus), (None, None, None));
    assert_eq!((waiting.alloc_mem_mb, waiting.req_mem_mb), (None, Some(100.0)));
    assert_eq!(waiting.cpu_hours_reserved, None);
}

#[test]
fn the_parts_of_a_resized_job_follow_one_another() {
    let parts = recorded("sacct-job-resized.psv", "92");
    let [before, after] = &parts[..] else { panic!() };
    assert_eq!((before.state.as_str(), before.is_complete), ("RESIZED", true));
    assert_eq!((before.alloc_nodes, before.elapsed_seconds), (Some(2), Some(2)));
    assert_eq!(before.node_list.as_deref(), Some("cpu[01,03]"));
    assert_eq!((after.state.as_str(), after.alloc_nodes), ("COMPLETED", Some(1)));
    // Printed are 24 s from 02:20:44 to 02:21:08, of which the first 2 are those of the first part.
    assert_eq!((after.start_time, after.elapsed_seconds), (before.end_time, Some(22)));
    assert_eq!(after.start_time, Some(after.submit_time));
    assert_eq!(after.cpu_hours_reserved, Some(22.0 / 3600.0));
    assert_eq!((before.attempt, after.attempt), (0, 0));
    // Its steps were cut short, and what they used is lost.
    assert_eq!((before.total_cpu_seconds, before.max_rss_mb), (None, None));
    assert_eq!((after.total_cpu_seconds, after.cpu_efficiency), (None, None));
    assert_eq!(recorded("sacct-all-duplicates.psv", "92"), parts);
}

/// As 22.05 printed a job of three nodes that gave one back after 6 s, and another after 11.
#[test]
fn a_job_resized_twice_is_three_parts_and_none_is_counted_twice() {
    let table = |last: &str| {
        format!(
            "{HEADER}\n10|10|RESIZING|506|506|512|6|cpu[01-03]||00:00:00|x\n\
             10|10|RESIZING|512|506|517|11|cpu[01-02]||00:00:00|x\n{last}"
        )
    };
    let parts = |table: String| {
        let jobs = parsed(table).records.into_iter();
        jobs.map(|job| {
            (job.submit_time.as_second(), job.attempt, job.start_time, job.elapsed_seconds)
        })
        .collect::<Vec<_>>()
    };
    let cut_off = [(506, 0, Some(second(506)), Some(6)), (512, 0, Some(second(512)), Some(5))];
    let running = parts(table("10|10|RUNNING|517|506|Unknown|15|cpu01||00:00:00|x\n"));
    assert_eq!(running, [cut_off[0], cut_off[1], (517, 0, Some(second(517)), Some(4))]);
    let ended = parts(table("10|10|COMPLETED|517|506|528|22|cpu01||00:00:00|x\n"));
    assert_eq!(ended, [cut_off[0], cut_off[1], (517, 0, Some(second(517)), Some(11))]);
    // Before the second change the second part ran, under the same key.
    let before =
        parts(format!("{HEADER}\n10|10|RUNNING|512|506|Unknown|9|cpu[01-02]||00:00:00|x\n"));
    assert_eq!(before, [(512, 0, Some(second(512)), Some(3))]);
}

#[test]
fn what_is_left_after_a_change_of_size_is_the_same_in_a_window_of_its_own() {
    let alone = |start, elapsed| {
        let job =
            one(&[("Submit", "100"), ("Start", start), ("ElapsedRaw", elapsed), ("End", "170")]);
        (job.start_time.unwrap().as_second(), job.elapsed_seconds)
    };
    assert_eq!(alone("40", "130"), (100, Some(70)));
    assert_eq!(alone("100", "70"), (100, Some(70)));
    // It was suspended for 25 s: more of them before the change than after cannot be told.
    assert_eq!(alone("40", "105"), (100, Some(45)));
    assert_eq!(alone("40", "50"), (100, Some(0)));
}

#[test]
fn steps_that_a_change_of_size_cut_off_leave_the_use_unknown() {
    let table = format!(
        "{HEADER}\n5|5|RESIZING|10|20|30|10|a||00:01.000|x\n\
         5.batch|5.batch|RESIZING|20|20|30|10|a||00:00:00|batch\n\
         5.0|5.0|COMPLETED|20|20|25|5|a|2097152|00:01.000|prepare\n"
    );
    let parsed = parsed(table);
    assert_eq!((parsed.records[0].total_cpu_seconds, parsed.records[0].max_rss_mb), (None, None));
}

#[test]
fn a_job_that_is_being_resized_goes_on() {
    let job = one(&[("State", "RESIZING"), ("End", "Unknown")]);
    assert_eq!((job.state.as_str(), job.is_complete), ("RESIZING", false));
}

#[test]
fn what_a_lost_or_a_running_job_used_is_unknown() {
    for id in ["90", "97"] {
        let [job] = &recorded("sacct-all-duplicates.psv", id)[..] else { panic!() };
        assert_eq!((job.total_cpu_seconds, job.max_rss_mb), (None, None), "job {id}");
        assert_eq!((job.cpu_efficiency, job.cpu_hours_wasted), (None, None), "job {id}");
        assert!(job.cpu_hours_reserved.is_some(), "job {id}");
    }
    let [running] = &recorded("sacct-all-duplicates.psv", "97")[..] else { panic!() };
    assert_eq!((running.is_complete, running.end_time), (false, None));
    assert_eq!((running.exit_code, running.exit_signal), (None, None));
}

#[test]
fn a_running_job_is_not_judged_by_the_steps_that_are_over() {
    let table = format!(
        "{HEADER}\n5|5|RUNNING|10|20|Unknown|3600|a||00:01.000|x\n\
         5.0|5.0|COMPLETED|20|20|30|10|a|2097152|00:01.000|prepare\n"
    );
    let parsed = parsed(table);
    assert_eq!((parsed.records[0].total_cpu_seconds, parsed.records[0].max_rss_mb), (None, None));
}

#[test]
fn a_job_that_never_started_has_no_start_and_holds_nothing() {
    // 3 passed its deadline, 17 was cancelled and prints `None`, 84 prints the moment of its end.
    for (name, id) in [
        ("sacct-all-duplicates.psv", "3"),
        ("sacct-job-array-pending.psv", "17_[]"),
        ("sacct-job-held.psv", "84"),
    ] {
        let [job] = &recorded(name, id)[..] else { panic!() };
        assert!(job.is_complete, "job {id}");
        assert_eq!((job.start_time, job.elapsed_seconds), (None, None), "job {id}");
        assert_eq!((job.alloc_cpus, job.node_list.as_deref()), (None, None), "job {id}");
        assert_eq!((job.req_cpus, job.cpu_hours_reserved), (Some(1), None), "job {id}");
    }
    // One that ended in the second in which it started did start.
    let job = one(&[("Start", "20"), ("End", "20"), ("ElapsedRaw", "0")]);
    assert_eq!((job.start_time, job.elapsed_seconds), (Some(second(20)), Some(0)));
}

#[test]
fn who_cancelled_a_job_is_not_part_of_its_state() {
    let [job] = &recorded("sacct-all-duplicates.psv", "85")[..] else { panic!() };
    assert_eq!((job.state.as_str(), job.is_complete), ("CANCELLED", true));
    assert_eq!(job.end_reason.as_deref(), Some("cancelled by uid 1002"));
    assert_eq!(one(&[("State", "CANCELLED")]).end_reason, None);
}

#[test]
fn flags_are_not_part_of_a_state() {
    for (text, state, is_complete) in [
        ("CANCELLED by 0", "CANCELLED", true),
        ("OUT_OF_MEMORY", "OUT_OF_MEMORY", true),
        ("COMPLETING", "COMPLETING", false),
        ("COMPLETED+COMPLETING", "COMPLETED", false),
        ("RUNNING+CONFIGURING", "RUNNING", false),
        // As yet nobody knows what it means: it is asked about again.
        ("TELEPORTED", "TELEPORTED", false),
        ("?", "?", false),
        ("", "UNKNOWN", false),
    ] {
        let job = one(&[("State", text)]);
        assert_eq!((job.state.as_str(), job.is_complete), (state, is_complete), "{text}");
    }
}

#[test]
fn exit_codes_and_signals_are_read() {
    for (id, expected) in [("28", (Some(1), Some(0))), ("31", (Some(0), Some(11)))] {
        let [job] = &recorded("sacct-all-duplicates.psv", id)[..] else { panic!() };
        assert_eq!((job.exit_code, job.exit_signal), expected, "job {id}");
    }
}

#[test]
fn arrays_and_heterogeneous_jobs_are_named_and_joined_by_their_raw_id() {
    let [task] = &recorded("sacct-all-duplicates.psv", "16_5")[..] else { panic!() };
    assert_eq!(task.array_job_id.as_deref(), Some("16"));
    assert_eq!(task.array_task_id.as_deref(), Some("5"));
    assert_eq!(task.max_rss_mb, Some(3136.0 / 1024.0));
    // The last task has the number of its array.
    let [task] = &recorded("sacct-all-duplicates.psv", "16_20")[..] else { panic!() };
    assert_eq!(task.max_rss_mb, Some(2832.0 / 1024.0));
    let [tasks] = &recorded("sacct-job-array-pending.psv", "18_[]")[..] else { panic!() };
    assert_eq!(tasks.array_task_id.as_deref(), Some("0-99%10"));
    assert_eq!((tasks.het_job_id.as_deref(), tasks.het_offset), (None, None));

    let [part] = &recorded("sacct-all-duplicates.psv", "24+1")[..] else { panic!() };
    assert_eq!((part.het_job_id.as_deref(), part.het_offset), (Some("24"), Some(1)));
    assert_eq!(part.array_job_id, None);
    assert_eq!(part.max_rss_mb, Some(1580.0 / 1024.0));
}

/// `18_[0-99%10]` and later `18_[5-99%10]` are one row that changes, and not two.
#[test]
fn tasks_that_wait_together_keep_their_key_while_they_leave() {
    let key = |id| {
        let job =
            one(&[("JobID", id), ("State", "PENDING"), ("Start", "Unknown"), ("End", "Unknown")]);
        assert_eq!(job.array_job_id.as_deref(), Some("18"));
        (job.job_id, job.array_task_id.unwrap())
    };
    let pair = |id: &str, tasks: &str| (Text::from(id), Text::from(tasks));
    assert_eq!(key("18_[0-99%10]"), pair("18_[]", "0-99%10"));
    assert_eq!(key("18_[5-99%10]"), pair("18_[]", "5-99%10"));
    assert_eq!(key("18_[98]"), pair("18_[]", "98"));
    assert_eq!(key("18_[1,3,5,...]"), pair("18_[]", "1,3,5,..."));
    assert_eq!(key("18_98"), pair("18_98", "98"));
}

/// A job of 120 s that asked for 400 MiB, with these steps: name, NTasks, MaxRSS and
/// TRESUsageInTot, here all in MiB.
fn peak(steps: &[(&str, &str, &str, &str)]) -> Option<f64> {
    let mut table =
        "JobID|JobIDRaw|State|Submit|Start|End|ElapsedRaw|NodeList|ReqMem|NTasks|MaxRSS|\
                     TotalCPU|TRESUsageInTot|JobName\n\
                     5|5|COMPLETED|10|20|140|120|a[1-2]|400M|||00:03:00||x\n"
            .to_owned();
    for (name, tasks, rss, total) in steps {
        let total = if total.is_empty() { String::new() } else { format!("energy=0,mem={total}M") };
        let id = format!("5.{name}");
        table +=
            &format!("{id}|{id}|COMPLETED|20|20|140|120|a1||{tasks}|{rss}M|00:01:00|{total}|y\n")
                .replace("|M|", "||");
    }
    let parsed = parsed(table);
    assert_eq!(parsed.rejects, []);
    let job = &parsed.records[0];
    assert_eq!(job.total_cpu_seconds, Some(180.0));
    assert_eq!(job.memory_efficiency, job.max_rss_mb.map(|used| used / 4.0));
    job.max_rss_mb
}

#[test]
fn memory_is_that_of_the_largest_step_over_all_its_tasks() {
    // Batch only: what the script runs itself.
    assert_eq!(peak(&[("batch", "1", "90", "90"), ("extern", "1", "2", "2")]), Some(90.0));
    // Many steps, one after another: the largest, and not their sum.
    assert_eq!(
        peak(&[
            ("batch", "1", "11", "11"),
            ("extern", "1", "2", "2"),
            ("0", "1", "50", "50"),
            ("1", "2", "40", "75"),
            ("2", "1", "60", "60"),
        ]),
        Some(75.0)
    );
    // Two machines: four tasks of at most 37 MiB had 146 together.
    assert_eq!(
        peak(&[("batch", "1", "11", "11"), ("extern", "2", "2", "4"), ("0", "4", "37", "146")]),
        Some(146.0)
    );
    // Where the sum is not given, the largest task stands for all four.
    assert_eq!(peak(&[("batch", "1", "11", ""), ("0", "4", "37", "")]), Some(148.0));
    assert_eq!(peak(&[("0", "", "37", "")]), Some(37.0));
    // `extern` alone, on both machines; and one without any script.
    assert_eq!(peak(&[("extern", "2", "2", "4")]), Some(4.0));
    assert_eq!(peak(&[("interactive", "1", "30", "30"), ("extern", "1", "2", "2")]), Some(30.0));
    // A step too short to be sampled has no memory, and is not `extern`'s.
    assert_eq!(peak(&[("batch", "1", "", ""), ("extern", "1", "2", "2")]), None);
    assert_eq!(peak(&[("batch", "1", "0", "0"), ("extern", "1", "2", "2")]), None);
    assert_eq!(peak(&[]), None);
}

#[test]
fn memory_over_several_machines_is_recorded() {
    // Step 0 has `mem=155316224`; its largest of four tasks has 38891520.
    let [job] = &recorded("sacct-all-noconvert.psv", "14")[..] else { panic!() };
    assert_eq!(job.max_rss_mb, Some(155_316_224.0 / 1_048_576.0));
    assert_eq!((job.alloc_nodes, job.req_mem_mb), (Some(2), Some(2048.0)));
    // Job 12 has six steps, of which step 1 is the largest with two tasks.
    let [job] = &recorded("sacct-all-noconvert.psv", "12")[..] else { panic!() };
    assert_eq!(job.max_rss_mb, Some(77_758_464.0 / 1_048_576.0));
}

/// Captured from SLURM 22.05 on a busy machine: the sample of 186_20.batch found a process that had
/// just ended, and `MaxRSS` and `mem` are 0. 186_21 is the same script, sampled in time.
#[test]
fn a_memory_of_0_is_not_a_measurement_and_the_cpu_time_beside_it_is() {
    let [missed] = &recorded("sacct-memory-0.psv", "186_20")[..] else { panic!() };
    assert_eq!((missed.max_rss_mb, missed.memory_efficiency), (None, None));
    assert_eq!((missed.memory_gb_hours_wasted, missed.total_cpu_seconds), (None, Some(0.003)));
    let [sampled] = &recorded("sacct-memory-0.psv", "186_21")[..] else { panic!() };
    assert_eq!(sampled.max_rss_mb, Some(1_724_416.0 / 1_048_576.0));
    // Step 5 of this job was missed. The others count.
    let [other] = &recorded("sacct-memory-0.psv", "151_4")[..] else { panic!() };
    assert_eq!(other.max_rss_mb, Some(11_005_952.0 / 1_048_576.0));
}

#[test]
fn a_sum_of_0_does_not_hide_the_largest_task() {
    assert_eq!(peak(&[("0", "2", "30", "0")]), Some(60.0));
    assert_eq!(peak(&[("0", "2", "0", "30")]), Some(30.0));
}

#[test]
fn a_cpu_time_of_0_is_real_only_beside_another_measurement() {
    let cpu_seconds = |tres_usage: &str, rss: &str| {
        let table = format!(
            "JobID|JobIDRaw|State|Submit|Start|End|ElapsedRaw|NodeList|MaxRSS|TotalCPU|TRESUsageInTot|JobName\n\
             5|5|COMPLETED|10|20|30|10|a||00:00:00||x\n\
             5.batch|5.batch|COMPLETED|20|20|30|10|a|{rss}|00:00:00|{tres_usage}|batch\n"
        );
        parsed(table).records[0].total_cpu_seconds
    };
    assert_eq!(cpu_seconds("energy=0", ""), Some(0.0));
    assert_eq!(cpu_seconds("", "1M"), Some(0.0));
    assert_eq!(cpu_seconds("", "0"), None);
    assert_eq!(cpu_seconds("", ""), None);
}

#[test]
fn extern_stands_for_a_job_only_alone() {
    // 26+1 has no other step. 85 has, but they were too short to be sampled.
    let [alone] = &recorded("sacct-all-duplicates.psv", "26+1")[..] else { panic!() };
    assert_eq!(alone.max_rss_mb, Some(1584.0 / 1024.0));
    let [short] = &recorded("sacct-all-duplicates.psv", "85")[..] else { panic!() };
    assert_eq!((short.max_rss_mb, short.total_cpu_seconds), (None, Some(0.007)));
}

#[test]
fn the_cpu_time_of_steps_is_added_where_the_job_has_none() {
    let table = format!(
        "{HEADER}\n5|5|COMPLETED|10|20|30|10|a||00:00:00|x\n\
         5.batch|5.batch|COMPLETED|20|20|30|10|a||00:01.500|batch\n\
         5.0|5.0|COMPLETED|20|20|30|10|a|3M|00:02.250|x\n\
         6|6|COMPLETED|10|20|30|10|a||00:00:00|idle\n\
         6.batch|6.batch|COMPLETED|20|20|30|10|a|1M|00:00:00|batch\n"
    );
    let parsed = parsed(table);
    assert_eq!(parsed.records[0].total_cpu_seconds, Some(3.75));
    assert_eq!(parsed.records[0].max_rss_mb, Some(3.0));
    // It was measured, and had used nothing.
    assert_eq!(parsed.records[1].total_cpu_seconds, Some(0.0));
}

#[test]
fn suspended_time_is_not_elapsed_time() {
    let [job] = &recorded("sacct-all-duplicates.psv", "89")[..] else { panic!() };
    assert_eq!((job.elapsed_seconds, job.suspended_seconds), (Some(20), Some(21)));
    let between = job.end_time.unwrap().as_second() - job.start_time.unwrap().as_second();
    assert_eq!(between, 41);
}

#[test]
fn a_user_whose_account_is_deleted_is_unknown() {
    let jobs = parsed(fixture("sacct-birch-duplicates.psv")).records;
    assert_eq!(jobs.len(), 18);
    assert_eq!(jobs.iter().filter(|job| job.user.is_none()).count(), 1);
    assert_eq!(jobs.iter().filter(|job| job.state == "OUT_OF_MEMORY").count(), 1);
}

#[test]
fn columns_that_are_missing_are_unknown() {
    let parsed = parsed(fixture("sacct-epoch.psv"));
    assert_eq!(parsed.rejects, []);
    let job = &parsed.records[0];
    assert_eq!(job.submit_time, second(1_794_709_179));
    assert_eq!(job.end_time, Some(second(1_794_709_256)));
    assert_eq!((job.state.as_str(), job.is_complete), ("UNKNOWN", false));
    assert_eq!((job.alloc_cpus, job.alloc_gpus, job.req_mem_mb), (None, None, None));
    assert_eq!(parsed.records[2].start_time, None);
}

#[test]
fn a_header_alone_is_no_jobs() {
    assert_eq!(parsed(fixture("sacct-no-such-cluster.txt")), Parsed::default());
    assert_eq!(parsed(""), Parsed::default());
}

#[test]
fn memory_is_what_was_asked_for_over_all_machines() {
    for (text, expected) in [
        ("4000M", Some(4000.0)),
        ("1.5T", Some(1_572_864.0)),
        ("2048", Some(2048.0)),
        ("4Gc", Some(32_768.0)),  // × 8 CPUs
        ("16Gn", Some(32_768.0)), // × 2 nodes
        ("500Mc", Some(4000.0)),
        ("0n", None),
        ("2000?", None),
        ("0", None),
        ("", None),
    ] {
        let job = one(&[("ReqMem", text), ("AllocCPUS", "8"), ("AllocNodes", "2")]);
        assert_eq!(job.req_mem_mb, expected, "{text}");
    }
}

#[test]
fn a_time_limit_is_minutes_or_none() {
    let limit = |text| one(&[("TimelimitRaw", text)]).time_limit_seconds;
    assert_eq!(limit("90"), Some(5400));
    assert_eq!(limit("UNLIMITED"), None);
    assert_eq!(limit("Partition_Limit"), None);
}

#[test]
fn nodes_are_counted_where_they_are_not_given() {
    assert_eq!(one(&[("NodeList", "a[1-3,7],b[01-02]c")]).alloc_nodes, Some(6));
}

#[test]
fn gpus_and_their_use_are_read() {
    let table = "JobID|State|Submit|Start|End|ElapsedRaw|AllocTRES|TRESUsageInMax|\
                 ConsumedEnergyRaw|JobName\n\
                 1|COMPLETED|10|20|30|10|cpu=1,gres/gpu:h100=1,gres/gpu:a100=1||0|x\n\
                 1.batch|COMPLETED|20|20|30|10||cpu=00:00:01,energy=0,gres/gpumem=1048576,\
                 gres/gpuutil=30|18446744073709551614|x\n\
                 1.0|COMPLETED|20|20|30|10||gres/gpumem=3145728,gres/gpuutil=150|4000|x\n\
                 2|COMPLETED|10|20|30|10|cpu=1||0|x\n";
    let parsed = parsed(table);
    assert_eq!(parsed.rejects, []);
    let [job, without] = &parsed.records[..] else { panic!() };
    assert_eq!((job.alloc_gpus, job.gpu_types.as_deref()), (Some(2), Some("a100=1,h100=1")));
    assert_eq!(job.gpu_utilization, Some(75.0)); // 150 % over 2 GPUs
    assert_eq!(job.gpu_memory_max_mb, Some(3.0));
    assert_eq!(job.gpu_usage_source.as_deref(), Some("gres/gpuutil"));
    assert_eq!(job.energy_joules, Some(4000.0));
    assert_eq!((without.alloc_gpus, without.gpu_utilization), (Some(0), None));
    assert_eq!((without.gpu_usage_source.as_deref(), without.energy_joules), (None, None));
}

#[test]
fn gpus_are_counted_once() {
    for (text, gpus, gpu_types) in [
        ("cpu=1,gres/gpu:a100=2,gres/gpu=2", Some(2), Some("a100=2")),
        ("cpu=1,gres/gpu=2", Some(2), None),
        ("cpu=1,gres/gpu:a100=4", Some(4), Some("a100=4")),
        ("cpu=1,gres/gpu:1g.10gb=1,gres/gpu=1", Some(1), Some("1g.10gb=1")),
        ("cpu=1,gres/gpu:a100_1g.5gb=2", Some(2), Some("a100_1g.5gb=2")),
        // A share of a GPU is none.
        ("cpu=1,gres/shard=4", Some(0), None),
        ("cpu=1,gres/shard:a100=4,gres/shard=4", Some(0), None),
        ("", None, None),
    ] {
        let job = one(&[("AllocTRES", text), ("ReqTRES", text)]);
        assert_eq!((job.alloc_gpus, job.gpu_types.as_deref()), (gpus, gpu_types), "{text}");
        assert_eq!(job.req_gpus, gpus, "{text}");
        let hours = gpus.map(|gpus| gpus as f64 * 100.0 / 3600.0);
        assert_eq!(job.gpu_hours_reserved, hours, "{text}");
    }
}

#[test]
fn the_gpu_use_of_a_step_is_that_of_all_its_tasks() {
    let table = "JobID|State|Submit|Start|End|ElapsedRaw|AllocTRES|NTasks|TRESUsageInMax|\
                 TRESUsageInTot|JobName\n\
                 1|COMPLETED|10|20|30|10|cpu=1,gres/gpu=4||||x\n\
                 1.0|COMPLETED|20|20|30|10||2|gres/gpumem=2097152,gres/gpuutil=150|\
                 gres/gpumem=3145728,gres/gpuutil=240|x\n\
                 2|COMPLETED|10|20|30|10|cpu=1,gres/gpu=1||||x\n\
                 2.0|COMPLETED|20|20|30|10||1||gres/gpuutil=103|x\n\
                 3|RUNNING|10|20|Unknown|10|cpu=1,gres/gpu=1||||x\n\
                 3.0|COMPLETED|20|20|30|10||1||gres/gpuutil=99|x\n\
                 4|COMPLETED|10|20|30|10|cpu=1||||x\n\
                 4.0|COMPLETED|20|20|30|10||1||gres/gpumem=0,gres/gpuutil=0|x\n";
    let parsed = parsed(table);
    assert_eq!(parsed.rejects, []);
    let found = parsed.records.iter().map(|job| (job.gpu_utilization, job.gpu_memory_max_mb));
    // 240 % over 4 GPUs.
    assert_eq!(
        found.collect::<Vec<_>>(),
        [(Some(60.0), Some(3.0)), (Some(100.0), None), (None, None), (None, None)]
    );
    assert_eq!(parsed.records[3].gpu_usage_source, None);
}

/// `{"nodes": {"n1": {"gpu_utilization": {"0": 80, "1": 20}}}}`, zipped.
const SUMMARY: &str = "JS1:H4sIAAAAAAACA6tWystPSS1WslKoVsozBFPpBaXxpSWZOZlViSWZ+Xlg\
    MQMgaWGgo6AEUmJkUAsEAFb8fv86AAAA";

#[test]
fn the_summary_of_jobstats_is_a_job_s_gpu_use() {
    let measured = |comment: &str| {
        let table = format!(
            "JobID|State|Submit|Start|End|ElapsedRaw|AllocTRES|TRESUsageInTot|AdminComment|JobName\n\
             1|COMPLETED|10|20|30|10|cpu=1,gres/gpu=2||{comment}|x\n\
             1.0|COMPLETED|20|20|30|10||gres/gpumem=1048576,gres/gpuutil=150||x\n"
        );
        let mut parsed = parsed(table);
        assert_eq!(parsed.rejects, []);
        let job = parsed.records.remove(0);
        (job.gpu_utilization, job.gpu_memory_max_mb, job.gpu_usage_source)
    };
    assert_eq!(measured(SUMMARY), (Some(50.0), None, Some("JS1".into())));
    for comment in ["", "JS1:Short", "JS1:None", &SUMMARY[..40], "ask\nroot"] {
        let expected = (Some(75.0), Some(1.0), Some("gres/gpuutil".into()));
        assert_eq!(measured(comment), expected, "{comment}");
    }
}

#[test]
fn the_jobs_of_two_clusters_never_meet() {
    let rows = "Cluster|JobID|JobIDRaw|State|Submit|JobName\nmaple|1|1|COMPLETED|10|x\n\
                birch|1|1|COMPLETED|10|x\nbirch|1.0|1.0|COMPLETED|10|x\nmaple|2|2|COMPLETED|10|x\n";
    let read = |name: Option<&str>| {
        let parser = Sacct::new("site", second(100));
        parse(name.into_iter().fold(parser, Sacct::of_cluster_in_slurmdbd), rows.as_bytes())
    };
    for name in [None, Some("maple"), Some("Maple")] {
        let maple = read(name);
        assert_eq!(names(&maple), [("1", "x"), ("2", "x")]);
        assert_eq!(maple.records[0].cluster, "site");
        assert_eq!(rejects(&maple)[1], (4, "a step without its job"));
    }
    assert_eq!(rejects(&read(None))[0], (3, "the row is of cluster `birch`, not of `maple`"));
    let birch = read(Some("birch"));
    assert_eq!(names(&birch), [("1", "x")]);
    assert_eq!(
        rejects(&birch),
        [
            (2, "the row is of cluster `maple`, not of `birch`"),
            (5, "the row is of cluster `maple`, not of `birch`"),
        ]
    );
}

#[test]
fn a_comment_may_hold_newlines_too() {
    let parsed = parsed(
        "JobID|Submit|AdminComment|JobName\n5|10|see\n\nthe ticket|one\ntwo\n6|10||x\n\
         7|10|cut\noff\n8|10||x\n",
    );
    assert_eq!(names(&parsed), [("5", "one\ntwo"), ("6", "x"), ("8", "x")]);
    assert_eq!(rejects(&parsed), [(7, "the row has too few cells")]);
    assert_eq!(parsed.rejects[0].text, "7|10|cut\noff");
}

#[test]
fn a_name_may_hold_delimiters_and_newlines() {
    let table = format!(
        "{HEADER}\n5|5|COMPLETED|10|20|30|10|a|||one|two\nthree\n\n7 lines\n\
         5.0|5.0|COMPLETED|10|20|30|10|a|||st|ep\n\
         6|6|COMPLETED|10|20|30|10|a|||||||||||||x\n\
         7|7|COMPLETED|10|20|30|10|a|||1|2|3\n4.batch|\n"
    );
    let parsed = parsed(table);
    assert_eq!(parsed.rejects, []);
    assert_eq!(
        names(&parsed),
        [("5", "one|two\nthree\n\n7 lines"), ("6", "||||||||||x"), ("7", "1|2|3\n4.batch|")]
    );
}

#[test]
fn a_broken_row_takes_no_good_one_with_it() {
    let good = "6|6|COMPLETED|10|20|30|10|a|||good\n";
    let parsed = parsed(format!("{HEADER}\n{good}7|7|COMPLETED|10|20|30\nmore\n{good}8|8|COM"));
    assert_eq!(names(&parsed), [("6", "good"), ("6", "good")]);
    assert_eq!(
        rejects(&parsed),
        [(3, "the row has too few cells"), (6, "the row has too few cells")]
    );
    assert_eq!(parsed.rejects[0].text, "7|7|COMPLETED|10|20|30\nmore");
}

#[test]
fn a_broken_row_takes_no_good_one_with_it_where_the_name_is_not_last() {
    let parsed = parsed(
        "JobID|JobName|Submit|Start\n1|long\nname|10|20\n2|bad\n3|name|10|20\n4|a|b|10|20\n\
         5|c\nd\ne|10|20\n6|last|\n",
    );
    assert_eq!(names(&parsed), [("1", "long\nname"), ("3", "name"), ("5", "c\nd\ne")]);
    assert_eq!(
        rejects(&parsed),
        [
            (4, "the row has too few cells"),
            (6, "the row has too many cells"),
            (10, "the row has too few cells"),
        ]
    );
}

#[test]
fn a_row_beyond_64_kib_is_set_aside() {
    let good = "6|6|COMPLETED|10|20|30|10|a|||good\n";
    let long = "7|7|COMPLETED|10|20|30|10|a|||".to_owned() + &"x".repeat(70_000) + "\n";
    let parts = good.to_owned() + &"continued\n".repeat(7000);
    let parsed = parsed(format!("{HEADER}\n{good}{long}{good}{parts}{good}"));
    assert_eq!(names(&parsed), [("6", "good"), ("6", "good"), ("6", "good")]);
    let reasons = rejects(&parsed);
    assert_eq!(reasons[0], (3, "the row is longer than 64 KiB"));
    assert_eq!(reasons[1], (5, "the row is longer than 64 KiB"));
}

#[test]
fn what_cannot_be_read_is_set_aside_and_named() {
    let parsed = parsed(format!(
        "Welcome to maple\n\n{HEADER}\nfive|5|COMPLETED|10|20|30|10|a|||x\n\
         5|5|COMPLETED|Unknown|20|30|10|a|||x\n5|5|COMPLETED|10|soon|30|10|a|||x\n\
         5|5|COMPLETED|10|20|30|-1|a|||x\n5.0|5.0|COMPLETED|10|20|30|10|a|||x\n\
         6|6|COMPLETED|10|20|30|10|a|||x\n5.0|5.0|COMPLETED|10|20|30|10|a|||x\n\
         6.0|6.0|COMPLETED|10|20|30|10|a|big||x\n"
    ));
    assert_eq!(names(&parsed), [("6", "x")]);
    assert_eq!(
        rejects(&parsed),
        [
            (1, "a table's header was expected"),
            (4, "the row has no job's id in its place"),
            (5, "the job was never submitted"),
            (6, "Start cannot be `soon`"),
            (7, "ElapsedRaw cannot be `-1`"),
            (8, "a step without its job"),
            (10, "a step without its job"),
            (11, "MaxRSS cannot be `big`"),
        ]
    );
}

#[test]
fn a_recording_cut_into_pieces_of_any_size_is_the_same() {
    let text = fixture("sacct-all-unit-separator.txt");
    let whole = parsed(&text);
    for size in [1, 2, 3, 7, 100, 1000, 4096] {
        let mut parser = Sacct::new("maple", second(1_794_709_300));
        text.chunks(size).for_each(|piece| parser.push(piece));
        assert_eq!(parser.finish(), whole, "pieces of {size}");
    }
}

/// Bytes that are mostly pieces of tables.
fn anything() -> impl Strategy<Value = Vec<u8>> {
    let pieces = prop::sample::select(vec![
        "\n",
        "|",
        "\x1f",
        HEADER,
        "\n5|5|COMPLETED|10|20|30|10|a|||x\n",
        "5.0|5.0|",
        "JobID|Submit\n",
        "Unknown",
        "1-02:03:04",
        "18446744073709551616",
        "[",
        "é",
    ]);
    let piece = prop_oneof![
        pieces.prop_map(|piece| piece.as_bytes().to_vec()),
        prop::collection::vec(any::<u8>(), 0..40),
        Just(b"x".repeat(70_000)),
    ];
    prop::collection::vec(piece, 0..20).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_bytes_cut_anywhere_are_read_as_if_whole(
        tail in anything(),
        with_header in any::<bool>(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let mut text = if with_header { format!("{HEADER}\n").into_bytes() } else { Vec::new() };
        text.extend(tail);
        let whole = parsed(&text);
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
        cuts.sort_unstable();
        let mut parser = Sacct::new("maple", second(1_794_709_300));
        let mut from = 0;
        for cut in cuts {
            parser.push(&text[from..cut]);
            from = cut;
        }
        parser.push(&text[from..]);
        prop_assert_eq!(parser.finish(), whole);
    }
}
