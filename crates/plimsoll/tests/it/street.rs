//! The one-way street: which crate may know which.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// What each crate may know of our own crates and of those that decide what it is.
const STREET: [(&str, &[&str]); 10] = [
    ("dependency-features", &[]),
    ("record", &["arrow"]),
    ("report", &[]),
    ("source", &["record", "lettre"]),
    ("lake", &["record", "arrow", "object_store", "parquet", "rusqlite"]),
    ("query", &["lake", "record", "report", "datafusion", "object_store"]),
    (
        "distributed",
        &[
            "lake",
            "query",
            "ballista-core",
            "ballista-executor",
            "ballista-scheduler",
            "datafusion",
            "object_store",
        ],
    ),
    ("view", &["report"]),
    ("serve", &["lake", "query", "report", "view", "axum"]),
    ("plimsoll", &["distributed", "lake", "query", "record", "report", "serve", "source", "view"]),
];

/// Dependencies that a crate may not have unless the street says so.
const GUARDED: [&str; 19] = [
    "distributed",
    "record",
    "report",
    "source",
    "lake",
    "query",
    "view",
    "serve",
    "plimsoll",
    "arrow",
    "parquet",
    "datafusion",
    "object_store",
    "axum",
    "rusqlite",
    "lettre",
    "ballista-core",
    "ballista-executor",
    "ballista-scheduler",
];

#[test]
fn no_crate_knows_what_it_must_not() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folders: BTreeSet<String> = fs::read_dir(&crates)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(folders, STREET.iter().map(|(name, _)| (*name).to_owned()).collect());
    for (name, allowed) in STREET {
        let manifest: toml::Table =
            fs::read_to_string(crates.join(name).join("Cargo.toml")).unwrap().parse().unwrap();
        let dependencies = manifest["dependencies"].as_table().unwrap();
        let guarded: BTreeSet<&str> = dependencies
            .keys()
            .map(String::as_str)
            .filter(|dependency| GUARDED.contains(dependency))
            .collect();
        assert_eq!(guarded, allowed.iter().copied().collect(), "{name}");
    }
}

#[test]
fn every_dependency_says_why_it_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.toml");
    let text = fs::read_to_string(root).unwrap();
    let (_, dependencies) = text.split_once("[workspace.dependencies]").unwrap();
    let (dependencies, _) = dependencies.split_once("\n[").unwrap();
    let mut above = "";
    for line in dependencies.lines() {
        let is_entry = line.contains(" = ") && !line.starts_with([' ', '#']);
        let is_ours = line.contains("path = ");
        let says_why = line.contains(" # ") || above.starts_with('#') || line.ends_with('[');
        assert!(!is_entry || is_ours || says_why, "no reason beside: {line}");
        above = line;
    }
}
