//! The web pages as files: every link leads to one of them, and names only to whom they may be told.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use lake::{Lake, Writer};
use query::metric::MetricOptions;
use query::{Judgement, Memory, PeriodEnd, Question, Sight};
use record::{GpuSpan, Job, Record};
use report::Period;
use serve::{Files, Site};
use tempfile::TempDir;

use crate::demo::DEMO;
use crate::program::plimsoll;

const CLUSTER: &str = "tamarack";
const NODES: usize = 2;
const USERS: usize = 3;
/// What one of the users is called.
const HOSTILE: &str = "../x<i>";
/// What staff's pages call researchers' slots.
const CLASS: &str = "ours / <i>.json";

/// A lake with a little of the demo's: each page takes a while, and there is one for each name.
struct Small {
    folder: TempDir,
    users: Vec<String>,
    nodes: Vec<String>,
    /// One of the jobs.
    job: String,
}

async fn small() -> Small {
    let demo = Lake::open(&DEMO.folder.path().join("plimsoll-demo")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let lake = Lake::create(&folder.path().join("data")).unwrap();
    let mut writer = lake.writer(CLUSTER).await.unwrap();
    let mut lives = demo.lives().await.unwrap();
    lives.retain(|live| live.cluster == CLUSTER);
    let mut live = lives.remove(0);
    live.jobs = None;
    writer.put_live(&live).await.unwrap();
    let mut nodes: Vec<String> = Vec::new();
    add::<GpuSpan>(&demo, &mut writer, |span| {
        (span.primary_user, span.backfill_user) = (None, None);
        is_one_of(&mut nodes, NODES, &span.machine)
    })
    .await;
    let mut users: Vec<String> = Vec::new();
    let mut job_id = String::new();
    add::<Job>(&demo, &mut writer, |job| {
        let user = job.user.as_deref().unwrap().to_owned();
        let is_wanted = is_one_of(&mut users, USERS, &user);
        if user == users[0] {
            job.user = Some(HOSTILE.into());
        }
        job.node_list = Some(nodes[0].as_str().into());
        if is_wanted {
            job_id = job.job_id.to_string();
        }
        is_wanted
    })
    .await;
    writer.finish().await.unwrap();
    HOSTILE.clone_into(&mut users[0]);
    Small { folder, users, nodes, job: job_id }
}

/// Whether a name is one of the first so many.
fn is_one_of(names: &mut Vec<String>, most: usize, name: &str) -> bool {
    let is_known = |names: &[String]| names.iter().any(|known| known == name);
    if names.len() < most && !is_known(names) {
        names.push(name.to_owned());
    }
    is_known(names)
}

/// Adds the rows of the demo's first day that are wanted.
async fn add<R: Record>(demo: &Lake, writer: &mut Writer, is_wanted: impl FnMut(&mut R) -> bool) {
    let files = demo.files(&R::TABLE, &demo.trackers().await.unwrap()).await.unwrap();
    let file = files.into_iter().find(|file| file.cluster == CLUSTER).unwrap();
    let mut rows = demo.read::<R>(CLUSTER, &file.meta.location).await.unwrap();
    rows.retain_mut(is_wanted);
    assert!(!rows.is_empty());
    writer.upsert(&rows).await.unwrap();
}

impl Small {
    /// The files for staff, as they are made at a moment.
    async fn made(&self) -> BTreeMap<String, Vec<u8>> {
        let time = |text: &str| -> Timestamp { text.parse().unwrap() };
        let now = time("2026-03-08T00:00:00Z");
        let period = Period {
            start: time("2026-03-05T00:00:00Z"),
            end: time("2026-03-06T00:00:00Z"),
            zone: TimeZone::UTC,
        };
        let lake = Lake::open(&self.folder.path().join("data")).unwrap();
        // The files of this lake have nothing of the last day.
        let period_end = Some(PeriodEnd::find(&lake, &[], now).await.unwrap());
        let question = Question { period_end, ..Question::about(period) };
        let site = Site {
            lake,
            zone: TimeZone::UTC,
            groups: BTreeMap::new(),
            allocations: Vec::new(),
            constants: BTreeMap::new(),
            judgement: Arc::new(Judgement {
                class_names: vec![("Priority-ResearcherOwned".to_owned(), CLASS.to_owned())],
                ..Judgement::default()
            }),
            memory: Memory::default(),
            metrics: MetricOptions::default(),
            access: None,
            now: Arc::new(move || now),
            fetch: |_| Err("nobody is asked".to_owned()),
            coordinators: None,
            steps: None,
        };
        let mut files = Files::new(site, &Sight::Staff, &question).unwrap();
        let mut made = BTreeMap::new();
        while let Some(file) = files.next().await.unwrap() {
            assert!(made.insert(file.path, file.bytes).is_none());
        }
        made
    }

    /// The files for the public, as the program writes them.
    fn written(&self) -> BTreeMap<String, Vec<u8>> {
        let folder = self.folder.path().join("pages");
        // Of a run before this one.
        fs::create_dir_all(folder.join("users")).unwrap();
        fs::write(folder.join("users/gone.html"), "").unwrap();
        fs::write(folder.join(".plimsoll-site"), "users/gone.html\n").unwrap();
        let words = ["site", "pages", "--from", "2026-03-05", "--to", "2026-03-06"];
        let said = plimsoll(self.folder.path(), &words);
        assert_eq!((said.status, said.stdout.as_str()), (0, ""), "{}", said.stderr);
        assert!(said.stderr.contains("removed 1 of an earlier run"), "{}", said.stderr);
        files(&folder)
    }
}

/// Everything that is asked of the files of one lake: to make them takes a while.
#[tokio::test]
async fn the_pages_are_files() {
    let small = small().await;
    let staff = small.made().await;
    every_link_leads_to_a_file(&staff);
    there_is_a_page_for_each(&small, &staff);
    they_say_that_the_newest_data_is_old(&staff);
    assert!(staff == small.made().await, "the same question has the same answer");
    let public = small.written();
    every_link_leads_to_a_file(&public);
    the_public_is_told_no_name(&small, &staff, &public);
}

/// All do but those that say whether collecting works, and those without a time.
fn they_say_that_the_newest_data_is_old(pages: &BTreeMap<String, Vec<u8>>) {
    let says = |path: &str| {
        String::from_utf8_lossy(&pages[path]).contains("The newest data is from 2026-03-0")
    };
    for path in ["index.html", "users.html", "gpus.html", "reports/daily.html"] {
        assert!(says(path), "{path}");
    }
    for path in ["health.html", "reports/collections.html", "definitions.html"] {
        assert!(!says(path), "{path}");
    }
}

/// Every file by its path, but for what a site keeps for itself.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(inner) = folders.pop() {
        for entry in fs::read_dir(inner).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
            if name != ".plimsoll-site" {
                found.insert(name, fs::read(path).unwrap());
            }
        }
    }
    found
}

/// What the attributes of a page lead to.
fn addresses(page: &str) -> impl Iterator<Item = &str> {
    let of = |attribute: &'static str| {
        page.split(attribute).skip(1).map(|rest| rest.split_once('"').unwrap().0)
    };
    of(" href=\"").chain(of(" src=\"")).chain(of(" action=\""))
}

/// The file that an address leads to from another.
fn resolved(from: &str, address: &str) -> Option<String> {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in address.split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()?),
            _ => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

fn every_link_leads_to_a_file(files: &BTreeMap<String, Vec<u8>>) {
    let mut linked = BTreeSet::from(["index.html"].map(str::to_owned));
    for (name, bytes) in files.iter().filter(|(name, _)| name.ends_with(".html")) {
        let page = String::from_utf8_lossy(bytes);
        // There is no icon.
        let is_link = |address: &&str| !address.starts_with('#') && *address != "data:,";
        for address in addresses(&page).filter(is_link) {
            let file = resolved(name, address).filter(|file| files.contains_key(file));
            assert!(file.is_some(), "{name} leads to {address}");
            linked.extend(file);
        }
    }
    assert!(files.keys().eq(linked.iter()), "there are files that nothing leads to");
}

fn there_is_a_page_for_each(small: &Small, files: &BTreeMap<String, Vec<u8>>) {
    let is_page = |(name, bytes): (&String, &Vec<u8>)| {
        name.ends_with(".html").then(|| (name.clone(), String::from_utf8(bytes.clone()).unwrap()))
    };
    let pages: BTreeMap<String, String> = files.iter().filter_map(is_page).collect();
    for (name, part) in [
        ("index.html", "<h1>Overview</h1>"),
        ("gpus.html", "<svg"),
        ("backfill.html", "What a job of yours can expect"),
        ("health.html", "What is kept"),
        ("reports/daily.html", "What ran on each day?"),
        ("definitions.html", "href=\"./reports/daily.html\""),
        ("users.html", "href=\"./users/~2E.~2Fx~3Ci~3E.html\">../x&lt;i&gt;</a>"),
        ("users/~2E.~2Fx~3Ci~3E.html", "<h1>User ../x&lt;i&gt;</h1>"),
        ("gpus.html", "href=\"./gpus/ours~20~2F~20~3Ci~3E.json.html\">ours / &lt;i&gt;.json</a>"),
        ("gpus/ours~20~2F~20~3Ci~3E.json.html", "<h1>Class ours / &lt;i&gt;.json</h1>"),
        ("gpus/ours~20~2F~20~3Ci~3E.json.html", "<svg"),
        ("gpus/Backfill-ResearcherOwned.html", "<svg"),
        // There are too many jobs for a page each: they are only named.
        ("jobs.html", &format!(">{}</td>", small.job)),
    ] {
        assert!(pages.get(name).is_some_and(|page| page.contains(part)), "{part} in {name}");
    }
    for node in &small.nodes {
        let page = &pages[&format!("nodes/{CLUSTER}/{node}.html")];
        assert!(page.contains("<svg"), "{node} has no heatmap");
    }
    assert!(!pages.keys().any(|name| name.starts_with("jobs/")), "a job has a page");
    let users = pages.keys().filter(|name| name.starts_with("users/"));
    assert_eq!(users.count(), USERS);
    for (name, page) in &pages {
        for word in ["<form", "Log in", "Ask again every", "Our own answers", "<i>"] {
            assert!(!page.contains(word), "{word} in {name}");
        }
    }
}

fn the_public_is_told_no_name(
    small: &Small,
    staff: &BTreeMap<String, Vec<u8>>,
    public: &BTreeMap<String, Vec<u8>>,
) {
    assert!(public.keys().any(|name| name.starts_with("users/user-")));
    assert!(!public.contains_key("health.html") && !public.contains_key("allocations.html"));
    let account =
        |name: &String| Some(name.strip_prefix("accounts/")?.strip_suffix(".html")?.to_owned());
    let names: Vec<String> =
        small.users.iter().cloned().chain(staff.keys().filter_map(account)).collect();
    assert!(names.len() > USERS);
    // What is no letter of a name ends it.
    let is_end = |letter: char| !(letter.is_alphanumeric() || "-_.".contains(letter));
    for (file, bytes) in public {
        if file.starts_with("asset/") || file == "definitions.html" {
            continue; // our own words, in which a name may occur
        }
        let text = String::from_utf8_lossy(bytes);
        assert!(!text.contains("x&lt;i") && !text.contains("x<i"), "{HOSTILE} in {file}");
        let words: BTreeSet<&str> = text.split(is_end).collect();
        for name in &names {
            assert!(!words.contains(name.as_str()), "{name} in {file}");
        }
    }
}

#[test]
fn what_cannot_be_written_is_refused_in_words() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("thesis.tex"), "mine").unwrap();
    let write = |path: &Path, more: &[&str]| {
        let words = ["--data-dir", "plimsoll-demo", "site", path.to_str().unwrap()];
        plimsoll(DEMO.folder.path(), &[&words[..], more].concat())
    };
    let said = write(folder.path(), &[]);
    assert_eq!(said.status, 2);
    assert!(said.stderr.contains("has files that plimsoll did not write"), "{}", said.stderr);
    let new = folder.path().join("new");
    let said = write(&new, &["--cluster", "oak"]);
    assert_eq!(said.status, 2);
    assert!(said.stderr.contains("oak"), "{}", said.stderr);
    assert!(!new.join("index.html").exists());
}

#[test]
fn without_data_nothing_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let said = plimsoll(folder.path(), &["--data-dir", "gone", "site", "out"]);
    assert_eq!(said.status, 2);
    assert!(said.stderr.contains("there is no data at gone"), "{}", said.stderr);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}
