//! `plimsoll prune`: what the schedulers printed long ago goes, and the tables stay.

use std::fs;

use crate::stub::{MAPLE, configure, run};

#[test]
fn what_was_printed_long_ago_goes_once_it_is_meant() {
    let folder = tempfile::tempdir().unwrap();
    configure(folder.path(), MAPLE);
    let raw = folder.path().join("data/raw/sacct/cluster=maple");
    for (day, bytes) in [("2001-02-03", 2048), ("2999-01-01", 10)] {
        fs::create_dir_all(raw.join(format!("date={day}"))).unwrap();
        fs::write(raw.join(format!("date={day}/x.zst")), vec![b'x'; bytes]).unwrap();
    }
    let prune =
        |words: &[&str]| run(folder.path(), &[&["prune", "--older-than", "1y"], words].concat());

    let told = prune(&["--dry-run"]);
    assert!(told.stderr.contains("maple: would remove 1 file, 2.0 KiB, about"), "{}", told.stderr);
    assert!(raw.join("date=2001-02-03/x.zst").exists());

    let done = prune(&[]);
    assert_eq!(done.status, 0);
    assert!(done.stderr.contains("maple: removed 1 file, 2.0 KiB, about"), "{}", done.stderr);
    assert!(!raw.join("date=2001-02-03").exists());
    assert!(raw.join("date=2999-01-01/x.zst").exists());

    let again = prune(&[]);
    assert!(again.stderr.contains("maple: removed 0 files"), "{}", again.stderr);
}

#[test]
fn what_was_printed_lately_is_not_removed() {
    let folder = tempfile::tempdir().unwrap();
    configure(folder.path(), MAPLE);
    let said = run(folder.path(), &["prune", "--older-than", "5d"]);
    assert_eq!(said.status, 2);
    assert!(said.stderr.contains("no less than 30d"), "{}", said.stderr);
}
