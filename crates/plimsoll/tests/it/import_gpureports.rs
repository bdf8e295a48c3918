//! `plimsoll import gpureports`: every generation of its files, each look once.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, Float64Array, Int64Array, LargeStringArray, StringArray, TimestampMicrosecondArray,
    TimestampNanosecondArray,
};
use jiff::civil::DateTime;
use rusqlite::Connection;

use crate::import::{files, write};
use crate::program::{Said, plimsoll};
use crate::server::Server;
use crate::stub::{configure, program, run};

const CHTC: &str = "[[cluster]]\nname = \"chtc\"\nkind = \"htcondor\"\n";
const WORDS: [&str; 5] = ["import", "gpureports", "old", "--zone", "America/Chicago"];

/// How gpureports kept the rows of a month.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kept {
    /// In 2025, by pandas: times are text, and free GPUs have an underscore in their names.
    Sqlite,
    /// By pandas, from such a file.
    Nanoseconds,
    /// Since May 2026, by polars.
    Parquet,
    /// Since August 2026: with PreventJobsReason and Disk, in another order.
    Later,
}

/// A row: what the clock showed, the slot, the GPU, the state and who holds it; `-` is nobody.
struct Row<'a> {
    time: DateTime,
    slot: &'a str,
    gpu: &'a str,
    state: &'a str,
    user: Option<&'a str>,
}

fn row(text: &str) -> Row<'_> {
    let [time, slot, gpu, state, user] = text.split(' ').collect::<Vec<_>>()[..] else {
        panic!("{text}");
    };
    let user = Some(user).filter(|user| *user != "-");
    Row { time: time.parse().unwrap(), slot, gpu, state, user }
}

/// Writes a month of a folder.
fn keep(folder: &Path, month: &str, kept: Kept, rows: &[&str]) {
    fs::create_dir_all(folder).unwrap();
    let rows: Vec<Row<'_>> = rows.iter().map(|text| row(text)).collect();
    let machine = |row: &Row<'_>| row.slot.split('@').nth(1).unwrap().to_owned();
    // What a slot offers is written beside each of its GPUs.
    let offered = |row: &Row<'_>| -> String {
        let of_slot = rows.iter().filter(|one| (one.time, one.slot) == (row.time, row.slot));
        of_slot.map(|one| one.gpu).collect::<Vec<_>>().join(",")
    };
    let owner = |row: &Row<'_>| row.user.map(|user| format!("{user}@example.org"));
    let job = |row: &Row<'_>| row.user.map(|user| format!("ap1#{}.0#1750000000", user.len()));
    if kept == Kept::Sqlite {
        let database = Connection::open(folder.join(format!("gpu_state_{month}.db"))).unwrap();
        database
            .execute_batch(
                "CREATE TABLE IF NOT EXISTS gpu_state (Name TEXT, AssignedGPUs TEXT,
                 AvailableGPUs TEXT, State TEXT, GPUs_DeviceName TEXT, GPUs_GlobalMemoryMb BIGINT,
                 PrioritizedProjects TEXT, GPUsAverageUsage FLOAT, Machine TEXT, RemoteOwner TEXT,
                 GlobalJobId TEXT, timestamp DATETIME);
                 CREATE INDEX idx_timestamp ON gpu_state (timestamp)",
            )
            .unwrap();
        for row in &rows {
            database
                .execute(
                    "INSERT INTO gpu_state VALUES (?1, ?2, ?3, ?4, 'NVIDIA H200', 143771, 'Lab',
                     0.5, ?5, ?6, ?7, ?8)",
                    (
                        row.slot,
                        row.gpu,
                        offered(row).replace('-', "_"),
                        row.state,
                        machine(row),
                        owner(row),
                        job(row),
                        row.time.strftime("%Y-%m-%d %H:%M:%S.%6f").to_string(),
                    ),
                )
                .unwrap();
        }
        return;
    }
    type Cell<'a> = &'a dyn Fn(&Row<'_>) -> Option<String>;
    let text = |cell: Cell<'_>| -> ArrayRef {
        let cells = rows.iter().map(cell);
        match kept {
            Kept::Nanoseconds => Arc::new(StringArray::from_iter(cells)),
            _ => Arc::new(LargeStringArray::from_iter(cells)),
        }
    };
    let micros = rows.iter().map(|row| {
        row.time.to_zoned(jiff::tz::TimeZone::UTC).unwrap().timestamp().as_microsecond()
    });
    let time: ArrayRef = match kept {
        Kept::Nanoseconds => {
            Arc::new(TimestampNanosecondArray::from_iter_values(micros.map(|time| time * 1000)))
        }
        _ => Arc::new(TimestampMicrosecondArray::from_iter_values(micros)),
    };
    let mut columns = vec![
        ("Name", text(&|row| Some(row.slot.to_owned()))),
        ("AssignedGPUs", text(&|row| Some(row.gpu.to_owned()))),
        ("AvailableGPUs", text(&|row| Some(offered(row)))),
        ("State", text(&|row| Some(row.state.to_owned()))),
        ("GPUs_DeviceName", text(&|_| Some("NVIDIA H200".to_owned()))),
        ("GPUs_GlobalMemoryMb", Arc::new(Int64Array::from(vec![143771; rows.len()]))),
        ("PrioritizedProjects", text(&|_| Some("Lab".to_owned()))),
        ("GPUsAverageUsage", Arc::new(Float64Array::from(vec![0.5; rows.len()]))),
        ("Machine", text(&|row| Some(machine(row)))),
        ("RemoteOwner", text(&owner)),
        ("GlobalJobId", text(&job)),
    ];
    if kept == Kept::Later {
        columns.reverse();
        columns.push(("PreventJobsReason", text(&|_| None)));
        columns.push(("Disk", Arc::new(Int64Array::from(vec![1; rows.len()]))));
    }
    columns.push(("timestamp", time));
    write(&folder.join(format!("gpu_state_{month}.parquet")), columns);
}

fn import(folder: &Path) -> Said {
    configure(folder, CHTC);
    plimsoll(folder, &WORDS)
}

fn asked(folder: &Path, statement: &str) -> Vec<String> {
    let said = plimsoll(folder, &["sql", statement, "--format", "csv"]);
    assert_eq!(said.status, 0, "{}", said.stderr);
    said.stdout.lines().skip(1).map(str::to_owned).collect()
}

/// The spans of the days that are over; the last one's are not settled yet.
const SPANS: &str = "SELECT gpu_id, start_time, end_time, primary_state, primary_user, \
    backfill_state, backfill_user FROM gpu_span WHERE date < (SELECT max(date) FROM gpu_span) \
    ORDER BY start_time, gpu_id";

/// Looks five minutes apart; ann's job ends before the third, and bob's backfill begins at it. At
/// 12:15 both are idle. The looks of the 16th close the day before them.
const ROWS: [&str; 14] = [
    "2025-08-14T12:00:00 slot1_1@g1 GPU-aa Claimed ann",
    "2025-08-14T12:00:00 slot1@g1 GPU-bb Unclaimed -",
    "2025-08-14T12:05:00 slot1_1@g1 GPU-aa Claimed ann",
    "2025-08-14T12:05:00 slot1@g1 GPU-bb Unclaimed -",
    "2025-08-14T12:10:00 slot1@g1 GPU-aa Unclaimed -",
    "2025-08-14T12:10:00 slot1@g1 GPU-bb Unclaimed -",
    "2025-08-14T12:10:00 backfill2_1@g1 GPU_AA Claimed bob",
    "2025-08-14T12:15:00 slot1@g1 GPU-aa Unclaimed -",
    "2025-08-14T12:15:00 slot1@g1 GPU-bb Unclaimed -",
    "2025-08-14T12:15:00 backfill2@g1 GPUs_GPU_bb Unclaimed -",
    "2025-08-14T12:20:00 slot1@g1 GPU-aa Unclaimed -",
    "2025-08-14T12:20:00 slot1@g1 GPU-bb Unclaimed -",
    "2025-08-14T12:20:00 backfill2@g1 GPUs_GPU_bb Unclaimed -",
    "2025-08-16T12:00:00 slot1@g1 GPU-aa Unclaimed -",
];

/// Chicago's clock is 5 hours behind UTC in August; the last look holds for twice five minutes.
const EXPECTED: [&str; 5] = [
    "GPU-aa,2025-08-14T17:00:00Z,2025-08-14T17:10:00Z,Claimed,ann,,",
    "GPU-bb,2025-08-14T17:00:00Z,2025-08-14T17:15:00Z,Unclaimed,,,",
    "GPU-aa,2025-08-14T17:10:00Z,2025-08-14T17:15:00Z,Unclaimed,,Claimed,bob",
    "GPU-aa,2025-08-14T17:15:00Z,2025-08-14T17:30:00Z,Unclaimed,,,",
    "GPU-bb,2025-08-14T17:15:00Z,2025-08-14T17:30:00Z,Unclaimed,,Unclaimed,",
];

#[test]
fn every_generation_says_the_same_and_twice_is_once() {
    for kept in [Kept::Sqlite, Kept::Nanoseconds, Kept::Parquet, Kept::Later] {
        let folder = tempfile::tempdir().unwrap();
        keep(&folder.path().join("old"), "2025-08", kept, &ROWS);
        let said = import(folder.path());
        assert_eq!((said.status, said.stdout.as_str()), (0, ""), "{kept:?} {}", said.stderr);
        assert_eq!(
            said.stderr.trim_end(),
            "imported 6 looks at GPUs from 14 rows, their times read in America/Chicago: 2 days \
             new, 5 spans"
        );
        assert_eq!(asked(folder.path(), SPANS), EXPECTED, "{kept:?}");
        // Of the last day more may come.
        assert_eq!(
            asked(folder.path(), "SELECT time, gpu_id, device_name FROM gpu_sample"),
            ["2025-08-16T17:00:00Z,GPU-aa,NVIDIA H200"]
        );
        // A measurement is of a job: of five minutes of nobody's there is none.
        let measured = "SELECT mean_use_ratio, primary_job_id, device_memory_mb, \
                        prioritized_projects FROM gpu_span WHERE mean_use_ratio IS NOT NULL \
                        ORDER BY start_time";
        assert_eq!(
            asked(folder.path(), measured),
            ["0.5,ap1#3.0,143771,Lab", "0.5,,143771,Lab"],
            "{kept:?}"
        );

        let before = files(&folder.path().join("data"));
        let again = import(folder.path());
        assert_eq!(again.status, 0, "{}", again.stderr);
        assert!(again.stderr.contains("0 days new, 0 spans"), "{}", again.stderr);
        let after = files(&folder.path().join("data"));
        let names = |files: &std::collections::BTreeMap<String, Vec<u8>>| {
            files.keys().cloned().collect::<Vec<_>>()
        };
        assert_eq!(names(&before), names(&after));
        for (name, bytes) in before {
            assert!(after[&name] == bytes, "a second import changed {name}");
        }
    }
}

/// In May 2026 the first half of the month was kept in one file and the second in the other; here
/// both have 12:10 and what follows until 12:15.
#[test]
fn two_files_of_one_month_count_once() {
    let folder = tempfile::tempdir().unwrap();
    let old = folder.path().join("old");
    keep(&old, "2025-08", Kept::Sqlite, &ROWS[..10]);
    keep(&old, "2025-08", Kept::Parquet, &ROWS[4..]);
    let said = import(folder.path());
    assert_eq!(said.status, 0, "{}", said.stderr);
    assert!(said.stderr.contains("6 looks at GPUs from 20 rows"), "{}", said.stderr);
    assert_eq!(asked(folder.path(), SPANS), EXPECTED);
}

/// What one machine's only GPU was, look by look from one clock time to another.
fn looks(rows: &mut Vec<String>, day: &str, from: &str, to: &str, user: &str) {
    let time = |text: &str| format!("{day}T{text}:00").parse::<DateTime>().unwrap();
    let (mut now, end) = (time(from), time(to));
    while now < end {
        rows.push(format!("{now} slot1_1@g1 GPU-aa Claimed {user}"));
        now = now.checked_add(jiff::Span::new().minutes(5)).unwrap();
    }
}

fn months(folder: &Path, months: &[(&str, &[String])]) {
    for (month, rows) in months {
        let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
        keep(&folder.join("old"), month, Kept::Parquet, &rows);
    }
}

/// At 02:00 on 2 November 2025, 07:00 UTC, it is 01:00 again.
#[test]
fn the_hour_that_comes_twice_is_two_hours() {
    let folder = tempfile::tempdir().unwrap();
    let mut rows = Vec::new();
    looks(&mut rows, "2025-11-02", "00:30", "01:00", "ann");
    looks(&mut rows, "2025-11-02", "01:00", "02:00", "bob");
    looks(&mut rows, "2025-11-02", "01:00", "02:00", "cyd");
    looks(&mut rows, "2025-11-02", "02:00", "02:10", "ann");
    looks(&mut rows, "2025-11-04", "00:00", "00:05", "ann");
    months(folder.path(), &[("2025-11", &rows)]);
    let said = import(folder.path());
    assert_eq!(said.status, 0, "{}", said.stderr);
    assert_eq!(
        asked(folder.path(), SPANS),
        [
            "GPU-aa,2025-11-02T05:30:00Z,2025-11-02T06:00:00Z,Claimed,ann,,",
            "GPU-aa,2025-11-02T06:00:00Z,2025-11-02T07:00:00Z,Claimed,bob,,",
            "GPU-aa,2025-11-02T07:00:00Z,2025-11-02T08:00:00Z,Claimed,cyd,,",
            "GPU-aa,2025-11-02T08:00:00Z,2025-11-02T08:15:00Z,Claimed,ann,,",
        ]
    );
}

/// Nothing was ever collected: the last look, at midnight in Chicago, is the newest data.
#[test]
fn what_is_asked_without_a_period_ends_with_the_last_look() {
    let folder = tempfile::tempdir().unwrap();
    let mut rows = Vec::new();
    looks(&mut rows, "2025-11-03", "12:00", "13:00", "ann");
    looks(&mut rows, "2025-11-05", "00:00", "00:05", "bob");
    months(folder.path(), &[("2025-11", &rows)]);
    let said = import(folder.path());
    assert_eq!(said.status, 0, "{}", said.stderr);
    let said = plimsoll(folder.path(), &["report", "gpu-users"]);
    for expected in ["The newest data is from 2025-11-05 06:00 UTC, ", "ann"] {
        assert!(said.stdout.contains(expected), "{expected} is missing in:\n{}", said.stdout);
    }
}

/// Three days of Chicago's clock, from 05:00 UTC on 1 October to 05:00 UTC on the 4th, hold two whole days
/// of UTC. Ann holds the GPU on the 2nd, and on the 3rd until 12:00 UTC, 07:00 in Chicago.
#[test]
fn days_of_imported_gpu_history_count_as_imported_and_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    let mut rows = Vec::new();
    for day in ["2025-10-01", "2025-10-02"] {
        looks(&mut rows, day, "00:00", "23:55", "ann");
        looks(&mut rows, day, "23:55", "23:59", "ann");
    }
    looks(&mut rows, "2025-10-03", "00:00", "07:00", "ann");
    let claimed = rows.len();
    looks(&mut rows, "2025-10-03", "07:00", "23:55", "-");
    looks(&mut rows, "2025-10-03", "23:55", "23:59", "-");
    for row in &mut rows[claimed..] {
        *row = row.replace("Claimed", "Unclaimed");
    }
    months(folder.path(), &[("2025-10", &rows)]);
    let said = import(folder.path());
    assert_eq!(said.status, 0, "{}", said.stderr);
    let check = |words: &[&str], expected: &str| {
        let said = plimsoll(folder.path(), words);
        assert_eq!(said.status, 0, "{words:?}: {}", said.stderr);
        assert!(said.stdout.contains(expected), "{expected} is missing in:\n{}", said.stdout);
    };
    let of = |report: &'static str, from: &'static str| {
        ["report", report, "--from", from, "--to", "2025-10-04"]
    };
    check(&of("gpu-usage", "2025-10-02"), "chtc: 2 of 2 days imported from gpureports\n");
    // Of the first day the first five hours are missing; and nothing says what jobs ran.
    check(&of("gpu-usage", "2025-10-01"), "chtc: 2 of 3 days imported from gpureports\n");
    check(&of("usage-by-user", "2025-10-02"), "chtc: 0 of 2 days collected, never asked\n");
    let json = [&of("gpu-usage", "2025-10-02")[..], &["--format", "json"]].concat();
    check(&json, r#""imported":[{"tool":"gpureports","days":2}]"#);
    // The day before is whole: 50 % of the time after 100 % are 50 percentage points less.
    let digest = ["digest", "daily", "--from", "2025-10-03", "--to", "2025-10-04"];
    let said = plimsoll(folder.path(), &[&digest[..], &["--format", "markdown"]].concat());
    assert_eq!(said.status, 0, "{}", said.stderr);
    let all = said.stdout.lines().find(|line| line.contains("All GPUs")).unwrap_or_default();
    let cells: Vec<&str> = all.split('|').map(str::trim).collect();
    assert_eq!(cells[2..6], ["1", "50.0", "100.0", "-50.0"], "{}", said.stdout);
    assert!(said.stdout.contains("chtc: 1 of 1 day imported from gpureports"), "{}", said.stdout);

    // The rows of `collection` say so too, to whoever makes the tracker anew.
    fs::remove_dir_all(folder.path().join("data/tracker")).unwrap();
    assert_eq!(import(folder.path()).status, 0);
    check(&of("gpu-usage", "2025-10-02"), "chtc: 2 of 2 days imported from gpureports\n");
}

/// At 02:00 on 8 March 2026, 08:00 UTC, it is 03:00. A row of 02:30 was written in another zone.
#[test]
fn the_hour_that_does_not_come_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let mut rows = Vec::new();
    looks(&mut rows, "2026-03-08", "01:30", "02:00", "ann");
    looks(&mut rows, "2026-03-08", "03:00", "03:30", "ann");
    looks(&mut rows, "2026-03-08", "02:30", "02:35", "ann");
    looks(&mut rows, "2026-03-10", "00:00", "00:05", "ann");
    months(folder.path(), &[("2026-03", &rows)]);
    let said = import(folder.path());
    assert_eq!(said.status, 1, "{}", said.stderr);
    assert!(said.stderr.contains("1 rows could not be read"), "{}", said.stderr);
    assert_eq!(
        asked(folder.path(), "SELECT source, position, reason FROM reject"),
        ["gpureports,13,America/Chicago has no 2026-03-08T02:30:00"]
    );
    // 6 looks before and 6 after; the last holds for ten minutes.
    assert_eq!(
        asked(folder.path(), SPANS),
        ["GPU-aa,2026-03-08T07:30:00Z,2026-03-08T08:35:00Z,Claimed,ann,,"]
    );
}

/// The month ends at 05:00 UTC of 1 September, in the middle of a day.
#[test]
fn a_day_goes_on_in_the_next_months_file() {
    let folder = tempfile::tempdir().unwrap();
    let (mut august, mut september) = (Vec::new(), Vec::new());
    // To 23:55, and from 00:00: 18:50 is 23:50 UTC.
    looks(&mut august, "2025-08-31", "18:50", "23:55", "ann");
    looks(&mut august, "2025-08-31", "23:55", "23:59", "ann");
    looks(&mut september, "2025-09-01", "00:00", "00:30", "ann");
    looks(&mut september, "2025-09-03", "00:00", "00:05", "ann");
    months(folder.path(), &[("2025-08", &august), ("2025-09", &september)]);
    let said = import(folder.path());
    assert_eq!(said.status, 0, "{}", said.stderr);
    // Two looks before midnight, 60 from 00:00 to 04:55 UTC, and 6 of September: one cut, at midnight.
    let expected = [
        "GPU-aa,2025-08-31T23:50:00Z,2025-09-01T00:00:00Z,Claimed,ann,,",
        "GPU-aa,2025-09-01T00:00:00Z,2025-09-01T05:35:00Z,Claimed,ann,,",
    ];
    assert_eq!(asked(folder.path(), SPANS), expected);

    // One file after the other is the same.
    let apart = tempfile::tempdir().unwrap();
    configure(apart.path(), CHTC);
    for month in ["2025-08", "2025-09"] {
        let file = folder.path().join(format!("old/gpu_state_{month}.parquet"));
        let file = file.to_str().unwrap();
        let said =
            plimsoll(apart.path(), &["import", "gpureports", file, "--zone", "America/Chicago"]);
        assert_eq!(said.status, 0, "{}", said.stderr);
    }
    assert_eq!(asked(apart.path(), SPANS), expected);
}

#[test]
fn jobs_that_waited_are_spans_of_the_queue() {
    let folder = tempfile::tempdir().unwrap();
    let old = folder.path().join("old");
    fs::create_dir_all(&old).unwrap();
    // At first a row a look: job 7 is seen at 10:00, 10:05 and 10:10, job 8 from 10:05 on.
    let april = Connection::open(old.join("job_pressure_2026-04.db")).unwrap();
    april
        .execute_batch(
            "CREATE TABLE job_pressure (timestamp TEXT, GlobalJobId TEXT, ScheddName TEXT,
             Owner TEXT, RequestGPUs REAL, RequestCPUs REAL, RequestMemory REAL,
             RequestGPUMemory REAL, QDate INTEGER);
             INSERT INTO job_pressure VALUES
             ('2026-04-21T10:00:00', 'ap1#7.0#1776783000', 'ap1', 'ann', 2, 4, 8192, NULL, 1776783000),
             ('2026-04-21T10:05:00', 'ap1#7.0#1776783000', 'ap1', 'ann', 2, 4, 8192, NULL, 1776783000),
             ('2026-04-21T10:05:00', 'ap1#8.0#1776783000', 'ap1', 'bob', 1, 1, 0, NULL, 0),
             ('2026-04-21T10:10:00', 'ap1#7.0#1776783000', 'ap1', 'ann', 2, 4, 8192, NULL, 1776783000),
             ('2026-04-21T10:10:00', 'ap1#8.0#1776783000', 'ap1', 'bob', 1, 1, 0, NULL, 0),
             ('2026-04-21T10:15:00', 'ap1#8.0#1776783000', 'ap1', 'bob', 1, 1, 0, NULL, 0)",
        )
        .unwrap();
    // Then a row a wait: job 9 from 23:50 to 00:10 UTC of 11 May. 1778543400 is 2026-05-11T23:50Z.
    let may = Connection::open(old.join("job_pressure_2026-05.db")).unwrap();
    may.execute_batch(
        "CREATE TABLE job_pressure (GlobalJobId TEXT NOT NULL, ScheddName TEXT, Owner TEXT,
         RequestGPUs REAL, RequestCPUs REAL, RequestMemory REAL, RequestGPUMemory REAL,
         QDate INTEGER, ChtcProjects TEXT, first_seen INTEGER NOT NULL, last_seen INTEGER NOT NULL);
         INSERT INTO job_pressure VALUES
         ('ap1#9.0#1778540000', 'ap1', 'ann', 1, 1, 1024, NULL, 1778540000, 'Lab', 1778543400, 1778544600),
         ('', 'ap1', 'ann', 1, 1, 1024, NULL, 1778540000, 'Lab', 1778543400, 1778544600)",
    )
    .unwrap();
    let said = import(folder.path());
    assert_eq!(said.status, 1, "{}", said.stderr);
    assert!(
        said.stderr.contains("imported 3 waits of jobs: 4 rows new, 0 changed"),
        "{}",
        said.stderr
    );
    assert!(said.stderr.contains("1 rows could not be read"), "{}", said.stderr);
    let spans = "SELECT job_id, start_time, end_time, samples, user, account, req_gpus, req_mem_mb \
                 FROM queue_span ORDER BY start_time, job_id";
    let expected = [
        "ap1#7.0,2026-04-21T15:00:00Z,2026-04-21T15:15:00Z,3,ann,,2,8192.0",
        // Nobody looked again: ten minutes.
        "ap1#8.0,2026-04-21T15:05:00Z,2026-04-21T15:25:00Z,3,bob,,1,",
        "ap1#9.0,2026-05-11T23:50:00Z,2026-05-12T00:00:00Z,1,ann,Lab,1,1024.0",
        "ap1#9.0,2026-05-12T00:00:00Z,2026-05-12T00:20:00Z,1,ann,Lab,1,1024.0",
    ];
    assert_eq!(asked(folder.path(), spans), expected);
    let again = import(folder.path());
    assert!(again.stderr.contains("0 rows new, 0 changed"), "{}", again.stderr);
    assert_eq!(asked(folder.path(), spans), expected);
}

#[test]
fn what_cannot_be_imported_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let old = folder.path().join("old");
    let check = |words: &[&str], status: i32, expected: &str| {
        let said = plimsoll(folder.path(), words);
        assert_eq!(said.status, status, "{}", said.stderr);
        assert!(said.stderr.contains(expected), "{}", said.stderr);
    };
    configure(folder.path(), CHTC);
    check(&WORDS, 2, "cannot read old");
    fs::create_dir_all(&old).unwrap();
    fs::write(old.join("gpu_state_2026-04_dev.db"), "").unwrap();
    check(
        &WORDS,
        2,
        "old holds no gpu_state_2026-04.parquet, gpu_state_2026-04.db or job_pressure_2026-04.db; \
         name the folder that gpureports calls data-dir",
    );
    let zone = ["import", "gpureports", "old", "--zone", "Chicago"];
    check(&zone, 2, "--zone \"Chicago\" is no time zone; write it as America/Chicago or UTC");
    let file = ["import", "gpureports", "old/gpu_state_2026-04_dev.db"];
    check(&file, 2, "is not called as files of gpureports are");

    // Damaged files are named, and the others are read.
    keep(&old, "2025-08", Kept::Parquet, &ROWS);
    fs::write(old.join("gpu_state_2025-09.parquet"), "PAR1 and no more").unwrap();
    fs::write(old.join("gpu_state_2025-10.db"), "no database, though it is called one").unwrap();
    Connection::open(old.join("gpu_state_2025-11.db"))
        .unwrap()
        .execute_batch(
            "CREATE TABLE gpu_state (Name TEXT, timestamp TEXT);
                        INSERT INTO gpu_state VALUES ('slot1@g1', '2025-11-01 00:00:00')",
        )
        .unwrap();
    fs::write(old.join("job_pressure_2025-08.db"), "").unwrap();
    check(&WORDS, 1, "4 files could not be read");
    for expected in [
        "cannot read old/gpu_state_2025-09.parquet",
        "cannot read old/gpu_state_2025-10.db",
        "old/gpu_state_2025-11.db has no column AssignedGPUs",
        "old/job_pressure_2025-08.db has no table job_pressure",
        "imported 6 looks",
    ] {
        check(&WORDS, 1, expected);
    }
    assert_eq!(asked(folder.path(), SPANS), EXPECTED);

    // What says something else of a day that is known is not mixed into it.
    let zone = ["import", "gpureports", "old", "--zone", "America/New_York"];
    check(&zone, 1, "left as they are: 1 days from 2025-08-14 to 2025-08-14");
    assert_eq!(asked(folder.path(), SPANS), EXPECTED);

    configure(folder.path(), "[[cluster]]\nname = \"maple\"\nkind = \"slurm\"\n");
    check(&WORDS, 2, "no HTCondor pool is configured; say whose history it is with --cluster NAME");
}

/// g1 is masked by gpureports, whose masks are found anywhere in a name. g2 is on its list of owned
/// machines. The reader's configuration says neither.
#[test]
fn owners_and_masks_of_gpureports_are_the_policy_of_the_imported_time() {
    let folder = tempfile::tempdir().unwrap();
    let old = folder.path().join("old");
    let rows = [
        "2025-08-14T12:00:00 slot1@g1.x.edu GPU-aa Unclaimed -",
        "2025-08-14T12:00:00 slot1@g2.x.edu GPU-bb Unclaimed -",
        "2025-08-14T12:00:00 slot1@g3.x.edu GPU-cc Unclaimed -",
    ];
    keep(&old, "2025-08", Kept::Parquet, &rows);
    fs::write(old.join("chtc_owned"), "g2.x.edu\n\n").unwrap();
    let masks = "# why\nexcluded_hosts:\n  G1.: \"interactive: only\"\n  2003: lab\n";
    fs::write(old.join("masked_hosts.yaml"), masks).unwrap();
    let said = import(folder.path());
    assert_eq!(said.status, 0, "{}", said.stderr);
    let stored = "stored as the site policy from 2025-08-14 12:00 CDT on: 1 machines of old/chtc_owned, 2 \
                  masks of old/masked_hosts.yaml";
    assert!(said.stderr.contains(stored), "{}", said.stderr);
    let policy = "SELECT valid_from, kind, pattern, value FROM site_policy ORDER BY rule";
    let expected = [
        "2025-08-14T17:00:00Z,policy,,gpureports",
        "2025-08-14T17:00:00Z,institution_owned,g2.x.edu,",
        "2025-08-14T17:00:00Z,mask,*G1.*,interactive: only",
        "2025-08-14T17:00:00Z,mask,*2003*,lab",
    ];
    assert_eq!(asked(folder.path(), policy), expected);
    let shown = "SELECT machine, owner_class FROM gpu_time ORDER BY machine";
    assert_eq!(asked(folder.path(), shown), ["g2.x.edu,institution-owned", "g3.x.edu,prioritized"]);
    let lines = "# The owners and masks of gpureports, for plimsoll.toml:\n[gpu]\ninstitution_owned = [\"g2.x.edu\"]\n\n\
                 [gpu.masks]\n\"*2003*\" = \"lab\"\n\"*G1.*\" = \"interactive: only\"\n";
    assert_eq!(said.stdout, lines);
    // Twice is once.
    let before = files(&folder.path().join("data/processed"));
    import(folder.path());
    assert_eq!(files(&folder.path().join("data/processed")), before);
    // A collection leaves what its configuration says nothing of, and adds what it says.
    program(folder.path(), "condor_status", "echo '[]'");
    run(folder.path(), &["collect", "--days", "0"]);
    assert_eq!(asked(folder.path(), policy), expected);
    configure(folder.path(), &format!("{CHTC}[gpu]\nhidden_families = [\"A30\"]\n"));
    run(folder.path(), &["collect", "--days", "0"]);
    let newest =
        "SELECT kind, pattern FROM site_policy WHERE valid_from > '2025-08-15' ORDER BY rule";
    let kept =
        ["policy,", "institution_owned,g2.x.edu", "mask,*G1.*", "mask,*2003*", "hidden_family,A30"];
    assert_eq!(asked(folder.path(), newest), kept);
}

/// ann holds a GPU for two looks five minutes apart, bob one by backfill for one. No job of either is known.
#[test]
fn users_of_an_imported_gpu_history_have_pages() {
    let folder = tempfile::tempdir().unwrap();
    keep(&folder.path().join("old"), "2025-08", Kept::Parquet, &ROWS);
    assert_eq!(import(folder.path()).status, 0);
    let server = Server::start(folder.path(), &["serve"]);
    let period = "from=2025-08-14&to=2025-08-15";
    server.check(&format!("/gpus?{period}"), "200", "href=\"./users/ann?");
    for (user, class) in [("ann", "Priority-ResearcherOwned"), ("bob", "Backfill-ResearcherOwned")]
    {
        let (head, page) = server.get(&format!("/users/{user}?{period}"));
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
        let (_, held) = page.split_once("GPU hours by class, as samples show them</h2>").unwrap();
        let (held, _) = held.split_once("</table>").unwrap();
        assert!(held.contains(class) && held.contains(user), "{held}");
    }
    server.check(&format!("/users/anne?{period}"), "404", "Did you mean &quot;ann&quot;?");
    // Names are kept until something new is there.
    server.check(&format!("/users/eve?{period}"), "404", "There is no user");
    let later = "2025-09-01T12:00:00 slot1_1@g1 GPU-aa Claimed eve";
    keep(&folder.path().join("old"), "2025-09", Kept::Parquet, &[later]);
    assert_eq!(import(folder.path()).status, 0);
    server.check(&format!("/users/eve?{period}"), "200", "<h1>User eve</h1>");
}

#[test]
fn after_an_import_the_next_report_shows_the_imported_period() {
    let folder = tempfile::tempdir().unwrap();
    keep(&folder.path().join("old"), "2025-08", Kept::Parquet, &ROWS);
    assert_eq!(import(folder.path()).status, 0);
    let said = plimsoll(folder.path(), &["report", "gpu-usage"]);
    assert_eq!(said.status, 0, "{}", said.stderr);
    assert!(said.stdout.contains("The newest data is from 2025-08-16 17:"), "{}", said.stdout);
    assert!(said.stdout.contains("The period ends there."), "{}", said.stdout);
    assert!(said.stdout.contains("Priority-ResearcherOwned"), "{}", said.stdout);
}
