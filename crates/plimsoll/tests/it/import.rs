//! `plimsoll import slurm-usage`: years of another tool, without loss and without doubles.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray,
};
use parquet::arrow::ArrowWriter;

use crate::program::plimsoll;
use crate::stub::{MAPLE, configure, program, run};

pub(crate) fn write(path: &Path, columns: Vec<(&str, ArrayRef)>) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut writer =
        ArrowWriter::try_new(File::create(path).unwrap(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

/// A day of `raw/`: columns of text, as slurm-usage split them; `_` is an empty cell.
fn raw(folder: &Path, day: &str, rows: &[&str]) {
    let names = "JobID JobIDRaw JobName User State Submit Start End ElapsedRaw AllocCPUS ReqMem \
                 AllocTRES NodeList MaxRSS TotalCPU SubmitLine";
    let rows: Vec<Vec<&str>> = rows.iter().map(|row| row.split_whitespace().collect()).collect();
    let columns = names.split_whitespace().enumerate().map(|(index, name)| {
        let cells = rows.iter().map(|row| if row[index] == "_" { "" } else { row[index] });
        (name, Arc::new(StringArray::from_iter_values(cells)) as ArrayRef)
    });
    write(&folder.join(format!("raw/{day}.parquet")), columns.collect());
}

/// How a version of slurm-usage wrote times.
#[derive(Clone, Copy)]
enum Times {
    Text,
    Moments,
}

/// A day of `processed/`: job, user, start and end as hours of the day's clock, CPUs, memory used
/// and CPU seconds used.
fn processed(
    folder: &Path,
    day: &str,
    times: Times,
    rows: &[(&str, &str, i64, i64, i64, f64, f64)],
) {
    let clock = |hour: i64| format!("{day}T{hour:02}:00:00");
    let time = |hours: Vec<i64>| -> ArrayRef {
        match times {
            Times::Text => Arc::new(StringArray::from_iter_values(hours.into_iter().map(clock))),
            Times::Moments => {
                let moment = |hour| {
                    let text = format!("{}Z", clock(hour));
                    text.parse::<jiff::Timestamp>().unwrap().as_microsecond()
                };
                let moments = hours.into_iter().map(moment);
                Arc::new(TimestampMicrosecondArray::from_iter_values(moments).with_timezone("UTC"))
            }
        }
    };
    let text = |cells: Vec<&str>| Arc::new(StringArray::from(cells)) as ArrayRef;
    let numbers = |cells: Vec<f64>| Arc::new(Float64Array::from(cells)) as ArrayRef;
    let integers = |cells: Vec<i64>| Arc::new(Int64Array::from(cells)) as ArrayRef;
    let all = |value: &'static str| text(vec![value; rows.len()]);
    write(
        &folder.join(format!("processed/{day}.parquet")),
        vec![
            ("job_id", text(rows.iter().map(|row| row.0).collect())),
            ("user", text(rows.iter().map(|row| row.1).collect())),
            ("job_name", all("old")),
            ("partition", all("cpu")),
            ("state", all("COMPLETED")),
            ("submit_time", time(rows.iter().map(|row| row.2).collect())),
            ("start_time", time(rows.iter().map(|row| row.2).collect())),
            ("end_time", time(rows.iter().map(|row| row.3).collect())),
            ("node_list", all("n1")),
            ("elapsed_seconds", integers(rows.iter().map(|row| (row.3 - row.2) * 3600).collect())),
            ("alloc_cpus", integers(rows.iter().map(|row| row.4).collect())),
            ("req_mem_mb", numbers(vec![4096.0; rows.len()])),
            ("max_rss_mb", numbers(rows.iter().map(|row| row.5).collect())),
            ("total_cpu_seconds", numbers(rows.iter().map(|row| row.6).collect())),
            ("alloc_gpus", integers(vec![0; rows.len()])),
            ("cpu_efficiency", numbers(vec![0.0; rows.len()])),
            ("processed_date", time(vec![23; rows.len()])),
        ],
    );
}

/// Three days: one that has only processed rows of an early version, and two with both.
pub(crate) fn origin(folder: &Path) {
    processed(
        folder,
        "2025-08-13",
        Times::Text,
        &[("5", "dan", 10, 12, 2, 1024.0, 7200.0), ("6", "eve", 10, 11, 1, 0.0, 0.0)],
    );
    raw(
        folder,
        "2025-08-14",
        &[
            // In no order, and with a step of job 7 on the day after.
            "7.batch 7.batch batch _ COMPLETED 2025-08-14T22:00:00 2025-08-14T22:00:00 2025-08-15T02:00:00 14400 2 _ cpu=2 n1 1G 01:00:00 _",
            "7 7 fit ann COMPLETED 2025-08-14T21:00:00 2025-08-14T22:00:00 2025-08-15T02:00:00 14400 2 4G cpu=2 n1 _ _ sbatch",
            "8 8 run bob RUNNING 2025-08-14T21:00:00 2025-08-14T22:00:00 Unknown 3600 1 1G cpu=1 n2 _ _ sbatch",
        ],
    );
    processed(
        folder,
        "2025-08-14",
        Times::Moments,
        &[("7", "ann", 22, 23, 99, 1.0, 1.0), ("10", "fay", 8, 9, 4, 2048.0, 3600.0)],
    );
    raw(
        folder,
        "2025-08-15",
        &[
            "7.0 7.0 big _ COMPLETED 2025-08-15T01:00:00 2025-08-15T01:00:00 2025-08-15T02:00:00 3600 2 _ cpu=2 n1 3G 01:30:00 _",
            "9 9 fit ann COMPLETED 2025-08-15T08:00:00 2025-08-15T08:00:00 2025-08-15T09:00:00 3600 1 4G cpu=1 n1 _ _ sbatch",
            "9.batch 9.batch batch _ COMPLETED 2025-08-15T08:00:00 2025-08-15T08:00:00 2025-08-15T09:00:00 3600 1 _ cpu=1 n1 1G 00:30:00 _",
        ],
    );
}

pub(crate) const WORDS: [&str; 5] = ["import", "slurm-usage", "old", "--zone", "America/Chicago"];

const JOBS: &str = "SELECT job_id, user, state, start_time, alloc_cpus, max_rss_mb, \
                    total_cpu_seconds, cpu_efficiency, source FROM job ORDER BY start_time, job_id";

fn jobs(folder: &Path) -> Vec<String> {
    let said = plimsoll(folder, &["sql", JOBS, "--format", "csv"]);
    assert_eq!(said.status, 0, "{}", said.stderr);
    said.stdout.lines().skip(1).map(str::to_owned).collect()
}

/// Every file of a lake, with its bytes; but for the lock, which bears the last holder's number.
pub(crate) fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.ends_with("lock") {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else {
                found.insert(path.display().to_string(), fs::read(&path).unwrap());
            }
        }
    }
    found
}

/// Midnight in Chicago is 05:00 UTC.
#[test]
fn reprocess_derives_the_rows_of_an_import_as_they_were() {
    let folder = tempfile::tempdir().unwrap();
    configure(folder.path(), MAPLE);
    let old = folder.path().join("old");
    origin(&old);
    let waiting = "13 13 fit ann PENDING 2025-08-16T20:00:00 Unknown Unknown 0 1 1G _ _ _ _ sbatch";
    // Measured in its processed row alone.
    let bare = "14 14 fit ann FAILED 2025-08-16T08:00:00 2025-08-16T08:00:00 2025-08-16T10:00:00 7200 1 4G cpu=1 n1 _ _ sbatch";
    raw(&old, "2025-08-16", &[waiting, bare]);
    processed(&old, "2025-08-16", Times::Moments, &[("14", "ann", 8, 10, 1, 512.0, 1800.0)]);
    assert_eq!(plimsoll(folder.path(), &WORDS).status, 0);
    let asked = |statement: &str| {
        let said = plimsoll(folder.path(), &["sql", statement, "--format", "csv"]);
        assert_eq!(said.status, 0, "{}", said.stderr);
        said.stdout.lines().skip(1).map(str::to_owned).collect::<Vec<_>>()
    };
    let known = "SELECT state, partition, max_rss_mb, cpu_efficiency FROM job WHERE job_id = '14'";
    assert_eq!(asked(known), ["FAILED,cpu,512.0,25.0"]);
    let observed = "SELECT observed_time FROM job WHERE job_id = '13'";
    assert_eq!(asked(observed), ["2025-08-17T05:00:00Z"]);
    let all = "SELECT * FROM job ORDER BY job_id";
    let before = asked(all);
    assert_eq!(before.len(), 8);
    for is_removed in [false, true] {
        if is_removed {
            fs::remove_dir_all(folder.path().join("data/processed/job")).unwrap();
        }
        assert_eq!(plimsoll(folder.path(), &["reprocess"]).status, 0);
        assert_eq!(asked(all), before);
    }
}

#[test]
fn every_job_comes_once_whichever_file_knows_it() {
    let folder = tempfile::tempdir().unwrap();
    configure(folder.path(), MAPLE);
    origin(&folder.path().join("old"));
    let said = plimsoll(folder.path(), &WORDS);
    assert_eq!(said.status, 0, "{}", said.stderr);
    assert_eq!(
        said.stderr.trim_end(),
        "imported 6 jobs of 3 days from 2025-08-13 to 2025-08-15, their times read in \
         America/Chicago: 6 rows new, 0 changed"
    );
    // Chicago's clock is 5 hours behind UTC. Job 5: 7200 s of 2 × 2 h are 50 %. Job 6 has only
    // zeros: unknown. Job 7: from raw, with the larger step and 1 h + 1.5 h of 2 × 4 h, 31.25 %.
    assert_eq!(
        jobs(folder.path()),
        [
            "5,dan,COMPLETED,2025-08-13T15:00:00Z,2,1024.0,7200.0,50.0,slurm-usage",
            "6,eve,COMPLETED,2025-08-13T15:00:00Z,1,,,,slurm-usage",
            "10,fay,COMPLETED,2025-08-14T13:00:00Z,4,2048.0,3600.0,25.0,slurm-usage",
            "7,ann,COMPLETED,2025-08-15T03:00:00Z,2,3072.0,9000.0,31.25,slurm-usage",
            "8,bob,RUNNING,2025-08-15T03:00:00Z,1,,,,slurm-usage",
            "9,ann,COMPLETED,2025-08-15T13:00:00Z,1,1024.0,1800.0,50.0,slurm-usage",
        ]
    );
    // Job 8 was seen after an hour, not when its file was written: 1 CPU hour.
    let bob = plimsoll(
        folder.path(),
        &["sql", "SELECT run_seconds FROM job_run WHERE user = 'bob'", "--format", "csv"],
    );
    assert_eq!(bob.stdout, "run_seconds\n3600.0\n");
    // The days count as imported: Chicago's three days hold two whole ones of UTC.
    let daily =
        plimsoll(folder.path(), &["report", "daily", "--from", "2025-08-14", "--to", "2025-08-16"]);
    assert!(
        daily.stdout.contains("maple: 2 of 2 days imported from slurm-usage\n"),
        "{}",
        daily.stdout
    );

    // Without a period the last days are shown that there are: the last whole one of UTC is the 15th.
    let last = plimsoll(folder.path(), &["report", "usage-by-user"]);
    let expected = "The newest data is from 2025-08-16 00:00 UTC, ";
    assert!(last.stdout.contains(expected) && last.stdout.contains("ann"), "{}", last.stdout);

    // A second time nothing changes, to the byte.
    let before = files(&folder.path().join("data"));
    let again = plimsoll(folder.path(), &WORDS);
    assert_eq!(again.status, 0, "{}", again.stderr);
    assert!(again.stderr.contains("0 rows new, 0 changed"), "{}", again.stderr);
    let after = files(&folder.path().join("data"));
    let names = |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&before), names(&after));
    for (name, bytes) in before {
        assert!(after[&name] == bytes, "a second import changed {name}");
    }

    // In another zone all would be there twice.
    let wrong =
        plimsoll(folder.path(), &["import", "slurm-usage", "old", "--zone", "Europe/Berlin"]);
    assert_eq!(wrong.status, 2);
    assert!(
        wrong.stderr.contains("their times are not those of Europe/Berlin"),
        "{}",
        wrong.stderr
    );
    assert_eq!(jobs(folder.path()).len(), 6);
}

#[test]
fn an_import_adds_measurements_to_what_slurm_itself_reported() {
    let folder = tempfile::tempdir().unwrap();
    configure(folder.path(), MAPLE);
    // Job 9 as in the old tool, but ended by a signal: 2025-08-15T13:00:00Z is 1755262800.
    program(
        folder.path(),
        "sacct",
        r#"[ "$1" = --helpformat ] && echo 'JobID JobIDRaw Submit State' && exit
printf 'JobID|JobIDRaw|User|State|Submit|Start|End|ElapsedRaw|AllocCPUS|NodeList|JobName\n'
printf '9|9|ann|FAILED|1755262800|1755262800|1755266400|3600|1|n1|fit\n'"#,
    );
    program(folder.path(), "scontrol", "true");
    program(folder.path(), "squeue", "true");
    assert_eq!(run(folder.path(), &["collect", "--days", "0"]).status, 0);
    origin(&folder.path().join("old"));
    let said = plimsoll(folder.path(), &WORDS);
    assert_eq!(said.status, 0, "{}", said.stderr);
    assert!(
        said.stderr.contains("5 rows new, 1 changed; 1 were also collected from SLURM"),
        "{}",
        said.stderr
    );
    let job = &jobs(folder.path())[5];
    // How it ended comes from SLURM, what it used from the import: 1800 s of 3600 s are 50 %.
    assert_eq!(job, "9,ann,FAILED,2025-08-15T13:00:00Z,1,1024.0,1800.0,50.0,sacct");
}

#[test]
fn a_file_that_cannot_be_read_is_named_and_the_rest_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    configure(folder.path(), MAPLE);
    let old = folder.path().join("old");
    origin(&old);
    // slurm-usage wrote files in place: a full disk left halves of them.
    fs::write(old.join("processed/2025-08-13.parquet"), "PAR1").unwrap();
    let said = plimsoll(folder.path(), &WORDS);
    assert_eq!(said.status, 1, "{}", said.stderr);
    assert!(said.stderr.contains("processed/2025-08-13.parquet"), "{}", said.stderr);
    assert!(said.stderr.contains("4 rows new"), "{}", said.stderr);
    assert_eq!(jobs(folder.path()).len(), 4);
}

#[test]
fn what_is_missing_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let check = |words: &[&str], complaint: &str| {
        let said = plimsoll(folder.path(), words);
        assert_eq!((said.status, said.stdout.as_str()), (2, ""), "{words:?}");
        assert!(said.stderr.contains(complaint), "{words:?}: {}", said.stderr);
    };
    fs::create_dir_all(folder.path().join("old")).unwrap();
    check(&["import", "slurm-usage", "old"], "say whose history it is with --cluster NAME");
    check(
        &["import", "slurm-usage", "old", "--cluster", "maple"],
        "old holds no raw/2025-08-14.parquet and no processed/2025-08-14.parquet",
    );
    check(
        &["import", "slurm-usage", "old", "--cluster", "maple", "--zone", "Chicago"],
        "--zone \"Chicago\" is no time zone",
    );
    check(&["import", "slurm-usage", "old", "--cluster", "../x"], "cannot be a cluster's name");
    assert!(!folder.path().join("data").exists(), "nothing is made before all is known");
}

#[test]
fn groups_of_slurm_usage_are_printed_as_lines_for_the_configuration() {
    let folder = tempfile::tempdir().unwrap();
    origin(&folder.path().join("old"));
    configure(folder.path(), MAPLE);
    // Where slurm-usage reads them from.
    let settings = folder.path().join(".config/slurm-usage");
    fs::create_dir_all(&settings).unwrap();
    let groups = "groups:\n  physics: [ann, bob, ann]\n  \"bio lab\":\n    - cy\n  empty: []\ndata_dir: /x\n";
    fs::write(settings.join("config.yaml"), groups).unwrap();
    let words = ["import", "slurm-usage", "old", "--zone", "UTC"];
    let said = plimsoll(folder.path(), &words);
    let lines = "[groups]\n\"bio lab\" = [\"cy\"]\nempty = []\nphysics = [\"ann\", \"bob\"]\n";
    assert!(said.stdout.ends_with(lines), "{}{}", said.stdout, said.stderr);
    // With these lines the configuration is right, and nothing is left to add.
    configure(folder.path(), &format!("{MAPLE}{lines}").replace("empty = []\n", ""));
    fs::write(settings.join("config.yaml"), "groups:\n  physics: [ann, bob]\n").unwrap();
    let said = plimsoll(folder.path(), &words);
    assert_eq!(said.stdout, "", "{}", said.stderr);
    // A file that is named must be right.
    fs::write(folder.path().join("other.yaml"), "groups: [ann]\n").unwrap();
    let words = ["import", "slurm-usage", "old", "--zone", "UTC", "--groups", "other.yaml"];
    let said = plimsoll(folder.path(), &words);
    assert_eq!(said.status, 2);
    assert!(said.stderr.contains("other.yaml: groups is no mapping"), "{}", said.stderr);
}
