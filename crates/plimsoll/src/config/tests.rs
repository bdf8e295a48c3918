//! Whole files, and exactly what is said of them.

use std::fs;

use query::Preemptible;
use source::elasticsearch::Purpose;
use tempfile::TempDir;

use super::*;

fn environment(current_dir: &Path) -> Environment {
    Environment {
        plimsoll_config: None,
        xdg_config_home: None,
        home: None,
        current_dir: current_dir.to_owned(),
        system_zone: TimeZone::get("Europe/Berlin").unwrap(),
        store_settings: StoreSettings::default(),
    }
}

fn read(text: impl AsRef<[u8]>) -> Result<Config, ConfigError> {
    check::config(Path::new("/site/plimsoll.toml"), text.as_ref(), &environment(Path::new("/site")))
}

/// What is said of a file, without the file's name.
fn check(text: impl AsRef<[u8]>, problems: &[&str]) {
    let said = read(text).map_err(|error| error.problems);
    let expected = problems.iter().map(|problem| format!("plimsoll.toml:{problem}")).collect();
    assert_eq!(said, Err(expected));
}

#[test]
fn every_setting_is_read() {
    let config = read(
        r#"
data_dir = "/var/lib/plimsoll"
zone = "America/Chicago"
memory_limit = "2GiB"
[[cluster]]
name = "alder"
kind = "slurm"
command_prefix = ["ssh", "login1"]
time_limit = "30s"
cadence = "90s"
slurm_cluster = "alder-2"
backfill_partitions = ["scavenge", "idle"]
backfill_qos = ["low"]
[[cluster]]
name = "birch"
kind = "htcondor"
[cluster.job_history]
url = "https://search.example.org:9200/es/"
index = "htcondor-*"
user = "plimsoll"
password_file = "password"
ca_file = "/etc/ca.pem"
[groups]
physics = ["alice", "bob"]
chemistry = ["alice"]
[metrics]
top = 5
idle_gpu_needs_cpu = false
[[push]]
name = "lines"
file = "jobs.ndjson"
[[push]]
name = "search"
url = "http://localhost:9200"
index = "plimsoll-jobs"
api_key_env = "KEY"
[access]
anonymous = "public"
staff = ["root"]
coordinators_of = ["alder"]
[access.coordinators]
ann = ["chem", "bio"]
[access.proxy]
header = "X-Remote-User"
trusted = ["127.0.0.1", "10.0.0.0/8"]
"#,
    );
    let expected = Config {
        path: Some("/site/plimsoll.toml".into()),
        data_dir: Place::Folder("/var/lib/plimsoll".into()),
        own_state_dir: None,
        zone: TimeZone::get("America/Chicago").unwrap(),
        memory: Memory::limited(2 * 1024 * 1024 * 1024).unwrap(),
        clusters: vec![
            Cluster {
                name: "alder".into(),
                kind: Kind::Slurm,
                command_prefix: vec!["ssh".into(), "login1".into()],
                time_limit: Some(Duration::from_secs(30)),
                own_cadence: Some(Duration::from_secs(90)),
                slurm_cluster: Some("alder-2".into()),
                backfill: Backfill {
                    partitions: vec!["scavenge".into(), "idle".into()],
                    qos: vec!["low".into()],
                },
                job_history: None,
                simulation: None,
            },
            Cluster {
                name: "birch".into(),
                kind: Kind::Htcondor,
                command_prefix: vec![],
                time_limit: None,
                own_cadence: None,
                slurm_cluster: None,
                backfill: Backfill::default(),
                job_history: Some(SearchServer {
                    url: "https://search.example.org:9200/es".into(),
                    index: "htcondor-*".into(),
                    login: Login::Password {
                        user: "plimsoll".into(),
                        place: SecretPlace::File("/site/password".into()),
                    },
                    ca_file: Some("/etc/ca.pem".into()),
                }),
                simulation: None,
            },
        ],
        groups: BTreeMap::from([
            ("chemistry".into(), vec!["alice".into()]),
            ("physics".into(), vec!["alice".into(), "bob".into()]),
        ]),
        allocations: Vec::new(),
        constants: BTreeMap::new(),
        judgement: Arc::new(Judgement {
            preemptible: vec![Preemptible {
                cluster: "alder".to_owned(),
                partitions: vec!["scavenge".to_owned(), "idle".to_owned()],
                qos: vec!["low".to_owned()],
            }],
            ..Judgement::default()
        }),
        metrics: MetricOptions { top: 5, idle_gpu: record::IdleGpu::Always },
        sinks: vec![
            Sink { name: "lines".into(), target: SinkTarget::File("/site/jobs.ndjson".into()) },
            Sink {
                name: "search".into(),
                target: SinkTarget::Server(SearchServer {
                    url: "http://localhost:9200".into(),
                    index: "plimsoll-jobs".into(),
                    login: Login::ApiKey { place: SecretPlace::Variable("KEY".into()) },
                    ca_file: None,
                }),
            },
        ],
        access: Some(Access {
            is_public: true,
            staff: ["root".to_owned()].into(),
            coordinators: [("ann".to_owned(), vec!["chem".to_owned(), "bio".to_owned()])].into(),
            proxy: Some(serve::Proxy {
                header: "x-remote-user".to_owned(),
                trusted: vec!["127.0.0.1".parse().unwrap(), "10.0.0.0/8".parse().unwrap()],
            }),
            openid: None,
            folder: "/var/lib/plimsoll/access".into(),
            is_local: false,
        }),
        openid: None,
        coordinators_of: vec!["alder".into()],
        mail: None,
        digests: check::default_digests(),
        notify: check::default_notify(),
    };
    assert_eq!(config, Ok(expected));
}

#[test]
fn an_empty_file_means_the_defaults() {
    let config = read("").unwrap();
    assert_eq!(config.data_dir, Place::Folder("/site/data".into()));
    assert_eq!(config.zone, TimeZone::get("Europe/Berlin").unwrap());
    assert_eq!((config.clusters, config.groups), (vec![], BTreeMap::new()));
}

#[test]
fn a_relative_data_dir_begins_at_the_files_folder() {
    let config = read("data_dir = 'lake/1'").unwrap();
    assert_eq!(config.data_dir, Place::Folder("/site/lake/1".into()));
    assert_eq!(config.state_dir().unwrap(), Path::new("/site/lake/1"));
}

#[test]
fn a_history_on_object_storage_needs_a_folder_beside_it() {
    let config = read("data_dir = 's3://bucket/lake'\nstate_dir = 'state'\n[access]\n").unwrap();
    assert_eq!(config.data_dir.to_string(), "s3://bucket/lake");
    assert_eq!(config.state_dir().unwrap(), Path::new("/site/state"));
    assert_eq!(config.access_folder().unwrap(), Path::new("/site/state/access"));
    check(
        "data_dir = 's3://bucket/lake'",
        &[
            "1:12: data_dir: s3://bucket/lake is on object storage: say where on this machine to keep \
           what is not history, such as who logs in and which letters were sent, with state_dir = \
           \"/var/lib/plimsoll\"",
        ],
    );
    check(
        "data_dir = 'ftp://host/lake'",
        &["1:12: data_dir: \"ftp://host/lake\" is no object store that is known: write \
           s3://bucket/prefix, gs://bucket/prefix or az://container/prefix, or a folder as a plain \
           path"],
    );
}

#[test]
fn all_errors_are_told_at_once_in_the_files_order() {
    check(
        r#"zone = "Amercia/Chicago"
data_dir = 5

[[cluster]]
nmae = "alder"
kind = "condor"
cadence = "0m"

[[cluser]]
name = "birch"

[group]
physics = ["alice"]
"#,
        &[
            r#"1:8: zone: unknown time zone "Amercia/Chicago": did you mean "America/Chicago"?"#,
            "2:12: data_dir: expected a string, found an integer",
            "4:1: cluster.name: missing: every cluster needs one",
            r#"5:1: unknown key "nmae": did you mean "name"?"#,
            r#"6:8: cluster.kind: unknown scheduler "condor": did you mean "htcondor"?"#,
            r#"7:11: cluster.cadence: "0m" is no time at all"#,
            r#"9:3: unknown key "cluser": did you mean "cluster"?"#,
            r#"12:2: unknown key "group": did you mean "groups"?"#,
        ],
    );
}

#[test]
fn an_unknown_key_that_is_near_none_lists_the_valid_ones() {
    check(
        "planet = 'x'",
        &[
            r#"1:1: unknown key "planet": there are "data_dir", "state_dir", "zone", "memory_limit", "simulation", "cluster", "groups", "gpu", "metrics", "push", "access", "allocation", "allocation_file", "constants", "mail", "digest", "notify""#,
        ],
    );
}

#[test]
fn wrong_types_are_named() {
    check(
        r#"zone = true
cluster = "alder"
groups = [1]
data_dir = 1.5
memory_limit = 2048
"#,
        &[
            "1:8: zone: expected a string, found a boolean",
            "2:11: cluster: write [[cluster]], not a string",
            "3:10: groups: expected a table ([groups]), found an array",
            "4:12: data_dir: expected a string, found a number",
            "5:16: memory_limit: expected a string, found an integer",
        ],
    );
    check(
        r#"cluster = [1, { name = 2026-01-01, kind = [], command_prefix = "ssh", cadence = 300 }]
groups = { physics = "alice", chemistry = ["bob", 7] }
"#,
        &[
            "1:12: cluster: expected a table, found an integer",
            "1:24: cluster.name: expected a string, found a date",
            "1:43: cluster.kind: expected a string, found an array",
            "1:64: cluster.command_prefix: expected an array of strings, found a string",
            r#"1:81: cluster.cadence: expected a string such as "5m", found an integer"#,
            "2:22: groups.physics: expected an array of strings, found a string",
            "2:51: groups.chemistry: expected strings only, found an integer",
        ],
    );
    check("[cluster]\nname = 'alder'\n", &["1:1: cluster: write [[cluster]], not a table"]);
}

#[test]
fn a_cluster_needs_a_kind() {
    check(
        "[[cluster]]\nname = 'alder'\n",
        &[r#"1:1: cluster.kind: missing: write kind = "slurm" or kind = "htcondor""#],
    );
    check(
        "[[cluster]]\nname = 'alder'\nkind = 'pbs'\n",
        &[r#"3:8: cluster.kind: unknown scheduler "pbs": there are "slurm", "htcondor""#],
    );
}

#[test]
fn two_clusters_of_one_name_are_told_apart_by_line() {
    check(
        "[[cluster]]\nname = 'alder'\nkind = 'slurm'\n[[cluster]]\nname = 'alder'\nkind = 'slurm'\n",
        &[r#"5:8: cluster.name: "alder" is already the name of a cluster, in line 2"#],
    );
}

#[test]
fn a_cluster_has_a_name_fit_for_a_folder() {
    for name in ["", "..", ".a", "-a", "_a", "a/b", "a\\b", "a b", "ü", "a=b", "a\n"] {
        check(
            format!("[[cluster]]\nname = {}\nkind = 'slurm'\n", toml::Value::from(name)),
            &[&format!(
                "2:8: cluster.name: {name:?} cannot name a folder: use letters, digits, '.', '_' \
                 and '-', a letter or a digit first, at most 200"
            )],
        );
    }
    for name in ["a", "7", "A.b_c-d", &"a".repeat(200)] {
        assert!(is_cluster_name(name), "{name}");
    }
    assert!(!is_cluster_name(&"a".repeat(201)));
}

#[test]
fn what_gives_way_to_others_is_told_of_slurm_alone() {
    check(
        r#"[[cluster]]
name = "birch"
kind = "htcondor"
backfill_partitions = ["idle"]

[[cluster]]
name = "alder"
kind = "slurm"
backfill_qos = "low"
backfill_partition = ["idle"]
"#,
        &[
            "4:23: cluster.backfill_partitions: only a slurm cluster has any; HTCondor's slots say it themselves",
            "9:16: cluster.backfill_qos: expected an array of strings, found a string",
            r#"10:1: unknown key "backfill_partition": did you mean "backfill_partitions"?"#,
        ],
    );
}

#[test]
fn a_cadence_is_a_time() {
    fn cadence(written: &str) -> Result<Config, ConfigError> {
        read(format!("[[cluster]]\nname='a'\nkind='slurm'\ncadence = \"{written}\"\n"))
    }
    for (written, seconds) in [("1s", 1), ("5m", 300), ("24h", 86_400)] {
        assert_eq!(cadence(written).unwrap().clusters[0].cadence(), Duration::from_secs(seconds));
    }
    for written in ["", "5", "m", "-5m", "+5m", "5 m", "1.5h", "5d", "5m ", "5ü"] {
        assert_eq!(
            cadence(written).unwrap_err().problems,
            [format!(
                "plimsoll.toml:4:11: cluster.cadence: \"{written}\" is not a whole number and s, \
                 m or h, such as \"5m\""
            )]
        );
    }
    // 2^64 seconds, 2^64 - 1 hours.
    for written in ["25h", "86401s", "18446744073709551616s", "18446744073709551615h"] {
        assert_eq!(
            cadence(written).unwrap_err().problems,
            [format!(
                "plimsoll.toml:4:11: cluster.cadence: \"{written}\" is more than a day (24h)"
            )]
        );
    }
}

#[test]
fn a_zone_is_one_that_the_database_knows() {
    check(
        "zone = 'Chicago'",
        &[r#"1:8: zone: unknown time zone "Chicago": did you mean "America/Chicago"?"#],
    );
    check(
        "zone = 'CST'",
        &[r#"1:8: zone: unknown time zone "CST": write a name such as "America/Chicago""#],
    );
    check(
        "zone = ''",
        &[r#"1:8: zone: unknown time zone "": write a name such as "America/Chicago""#],
    );
}

#[test]
fn a_data_dir_is_a_path() {
    check("data_dir = ''", &["1:12: data_dir: it is empty"]);
    check(
        "data_dir = '~/lake'",
        &[r#"1:12: data_dir: "~/lake" is not expanded as in a shell: write it whole"#],
    );
}

#[test]
fn metrics_are_bounded() {
    check(
        "[metrics]\ntop = 10001\nidle_gpu_needs_cpu = 'no'\nusers = 3\n",
        &[
            "2:7: metrics.top: write 0 to 10000",
            "3:22: metrics.idle_gpu_needs_cpu: expected true or false, found a string",
            r#"4:1: unknown key "users": there are "top", "idle_gpu_needs_cpu""#,
        ],
    );
}

#[test]
fn a_user_stands_once_in_a_group() {
    check(
        "[groups]\nphysics = ['ann', 'bob', 'ann', '']\n'' = []\n",
        &[
            r#"2:26: groups.physics: "ann" stands here twice"#,
            "2:33: groups.physics: an empty string",
            "3:1: groups: a group's name is empty",
        ],
    );
}

#[test]
fn columns_are_counted_in_characters() {
    // Before the 1 stand `groups = { 'ü' = ['ö', `: 23 characters, 25 bytes.
    check(
        "groups = { 'ü' = ['ö', 1] }",
        &["1:24: groups.ü: expected strings only, found an integer"],
    );
}

#[test]
fn a_byte_order_mark_takes_no_column() {
    check("\u{feff}zone = 1", &["1:8: zone: expected a string, found an integer"]);
}

#[test]
fn brackets_left_open_are_told_once() {
    check("zone = [[[[", &["1:12: unclosed array, expected `]`"]);
}

/// `foo` would be an unknown key.
#[test]
fn all_syntax_errors_are_told_and_nothing_is_guessed_from_the_rest() {
    check(
        "zone = \ndata_dir = 'a'\ndata_dir = 'b'\nfoo = bar\n[groups\n",
        &[
            "1:8: string values must be quoted, expected literal string",
            "3:1: duplicate key: \"data_dir\"",
            "4:7: string values must be quoted, expected literal string: \"bar\"",
            "5:8: unclosed table, expected `]`",
        ],
    );
}

#[test]
fn what_is_not_utf_8_is_found() {
    check(b"# caf\xc3\xa9\nzone = '\xff'", &["2:9: not UTF-8 from here on"]);
}

struct Site {
    folder: TempDir,
    environment: Environment,
}

/// A folder with files, each of which names its place as its data folder.
fn site(files: &[&str]) -> Site {
    let folder = TempDir::new().unwrap();
    for file in files {
        let path = folder.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "data_dir = '.'").unwrap();
    }
    let current_dir = folder.path().join("work");
    fs::create_dir_all(&current_dir).unwrap();
    let environment =
        Environment { home: Some(folder.path().join("home")), ..environment(&current_dir) };
    Site { folder, environment }
}

impl Site {
    fn finds(&self, explicit: Option<&str>, file: &str) {
        let config = Config::load(explicit.map(Path::new), &self.environment).unwrap();
        assert_eq!(config.path, Some(self.folder.path().join(file)));
    }
}

#[test]
fn the_first_file_of_the_usual_places_is_taken() {
    let files =
        ["work/plimsoll.toml", "home/.config/plimsoll/plimsoll.toml", "xdg/plimsoll/plimsoll.toml"];
    let mut site = site(&files);
    site.finds(None, files[0]);
    fs::remove_file(site.folder.path().join(files[0])).unwrap();
    site.finds(None, files[1]);
    site.environment.xdg_config_home = Some("relative".into());
    site.finds(None, files[1]);
    site.environment.xdg_config_home = Some(site.folder.path().join("xdg"));
    site.finds(None, files[2]);
}

#[test]
fn the_last_of_the_usual_places_is_the_machines() {
    assert_eq!(
        usual_places(&environment(Path::new("/home/ann"))),
        [Path::new("/home/ann/plimsoll.toml"), Path::new("/etc/plimsoll/plimsoll.toml")]
    );
}

#[test]
fn a_named_file_goes_before_the_usual_places() {
    let mut site = site(&["work/plimsoll.toml", "work/a.toml", "work/b.toml"]);
    site.environment.plimsoll_config = Some("".into());
    site.finds(None, "work/plimsoll.toml");
    site.environment.plimsoll_config = Some("a.toml".into());
    site.finds(None, "work/a.toml");
    site.finds(Some("b.toml"), "work/b.toml");
}

#[test]
fn a_named_file_must_be_there() {
    let mut site = site(&["work/plimsoll.toml"]);
    let said = |explicit: Option<&str>, site: &Site| {
        Config::load(explicit.map(Path::new), &site.environment).unwrap_err().to_string()
    };
    assert_eq!(
        said(Some("a.toml"), &site),
        "cannot read a.toml, which --config names: No such file or directory (os error 2)"
    );
    site.environment.plimsoll_config = Some("/no/b.toml".into());
    assert_eq!(
        said(None, &site),
        "cannot read /no/b.toml, which $PLIMSOLL_CONFIG names: No such file or directory (os error 2)"
    );
}

#[test]
fn what_cannot_be_read_is_no_reason_to_look_further() {
    let site = site(&["home/.config/plimsoll/plimsoll.toml"]);
    fs::create_dir(site.environment.current_dir.join("plimsoll.toml")).unwrap();
    assert_eq!(
        Config::load(None, &site.environment).unwrap_err().to_string(),
        "cannot read plimsoll.toml: Is a directory (os error 21)"
    );
}

#[test]
fn what_the_site_says_of_gpus_is_read() {
    let config = read(
        r#"
[gpu]
institution_owned = ["gpu2*", "/^e[0-9]+/"]
researcher_owned = ["smith*"]
hidden_families = ["Quadro", "Old"]
[gpu.classes]
"Shared" = "Open"
[gpu.masks]
"zoo*" = "first in the file"
"*" = "second"
[[gpu.device]]
patterns = ["Old One"]
family = "Old"
tier = "flagship"
weight = 2
memory_gb = 1.5
"#,
    )
    .unwrap();
    let judgement = &config.judgement;
    assert!(judgement.is_institution_owned("GPU2000.example.edu"));
    assert!(judgement.is_institution_owned("e1"));
    assert!(judgement.is_researcher_owned("smithgpu1"));
    assert_eq!(judgement.class_name("Shared"), "Open");
    assert_eq!(judgement.mask("zoo1"), Some("first in the file"));
    assert_eq!(judgement.mask("ant1"), Some("second"));
    let device = judgement.device("old one").unwrap();
    assert_eq!((device.weight, device.memory_gb), (Some(2.0), Some(1.5)));
    assert!(judgement.is_hidden("Old One"));
    assert!(judgement.device("NVIDIA A40").is_some(), "the models that are known stay");
}

#[test]
fn what_is_wrong_with_gpus_is_said_with_its_place() {
    check(
        r#"
[gpu]
institution = []
institution_owned = ["/("]
hidden_families = ["Quadros", "Titan"]
[gpu.classes]
Sharde = "Open"
Shared = "Interactive"
[gpu.masks]
"a*" = " "
"/b" = "why"
"c" = 1
[[gpu.device]]
name = "A40"
[[gpu.device]]
patterns = ["A40"]
tier = "flagshp"
weight = -1
memory_gb = "48"
hidden = "no"
"#,
        &[
            "3:1: unknown key \"institution\": did you mean \"institution_owned\"?",
            "4:22: gpu.institution_owned: \"/(\" begins as a regular expression and lacks the slash at its end",
            "5:20: gpu.hidden_families: \"Quadros\": did you mean \"Quadro\"?",
            "7:1: unknown key \"Sharde\": did you mean \"Shared\"?",
            "8:10: gpu.classes.Shared: \"Interactive\" is the name of another class",
            "10:8: gpu.masks.a*: say why: every report shows the reason",
            "11:1: gpu.masks: \"/b\" begins as a regular expression and lacks the slash at its end",
            "12:7: gpu.masks.c: expected the reason, a string, found an integer",
            "13:1: gpu.device.patterns: missing: write patterns = [\"NVIDIA A40\"]",
            "15:1: gpu.device: write a name, a family, or both",
            "17:8: gpu.device.tier: unknown tier \"flagshp\": did you mean \"flagship\"?",
            "18:10: gpu.device.weight: a number above zero",
            "19:13: gpu.device.memory_gb: expected a number, found a string",
            "20:10: gpu.device.hidden: expected true or false, found a string",
        ],
    );
}

/// A pool with a server that keeps its history; the table begins in line 4.
fn with_history(settings: &str) -> String {
    format!(
        "[[cluster]]\nname = \"birch\"\nkind = \"htcondor\"\n[cluster.job_history]\n{settings}\n"
    )
}

#[test]
fn secrets_are_named_and_not_told() {
    let server = "url = \"https://s\"\nindex = \"i\"\n";
    for (settings, login) in [
        ("", Login::Nobody),
        (
            "user = \"u\"\npassword_env = \"P\"",
            Login::Password { user: "u".into(), place: SecretPlace::Variable("P".into()) },
        ),
        ("api_key_file = \"/k\"", Login::ApiKey { place: SecretPlace::File("/k".into()) }),
    ] {
        let config = read(with_history(&format!("{server}{settings}"))).unwrap();
        assert_eq!(config.clusters[0].job_history.as_ref().unwrap().login, login);
    }
    check(
        with_history(&format!("{server}password = \"hidden\"\nuser = \"u\"")),
        &[
            "7:1: cluster.job_history.password: a secret does not belong here: put it into a file \
             that only Plimsoll's user may read, and name that as password_file",
            "8:8: cluster.job_history.user: it has no password: name a password_file",
        ],
    );
}

#[test]
fn a_server_that_cannot_be_asked_is_told() {
    check(
        with_history("user = 5\nca_fil = \"x\""),
        &[
            "4:1: cluster.job_history.url: missing: write url = \"https://search.example.org:9200\"",
            "4:1: cluster.job_history.index: missing: write index = \"htcondor-*\"",
            "5:8: cluster.job_history.user: expected a string, found an integer",
            "6:1: unknown key \"ca_fil\": did you mean \"ca_file\"?",
        ],
    );
    for (url, problem) in [
        ("search:9200", "it begins with neither https:// nor http://"),
        ("ftp://s", "it begins with neither https:// nor http://"),
        (
            "https://u:p@s",
            "a user and a password do not belong into it: use user and password_file",
        ),
        ("https://", "it names no server"),
        ("https://s/?pretty", "it goes on after the path"),
    ] {
        check(
            with_history(&format!("index = \"i\"\nurl = \"{url}\"")),
            &[&format!("6:7: cluster.job_history.url: {problem}")],
        );
    }
    check(
        with_history("url = \"https://s\"\nindex = \"../i\""),
        &["6:9: cluster.job_history.index: \"../i\" is no name or pattern of an index"],
    );
    check(
        with_history("url = \"http://s:9200\"\nindex = \"i\"\napi_key_env = \"K\""),
        &[
            "5:7: cluster.job_history.url: \"http://s:9200\" would send the secret for all to read: \
           use https",
        ],
    );
    check(
        with_history(
            "url = \"https://s\"\nindex = \"i\"\npassword_env = \"P\"\npassword_file = \"p\"",
        ),
        &[
            "7:16: cluster.job_history.password_env: password_file stands here, too: choose one",
            "8:17: cluster.job_history.password_file: it is nobody's: name its user",
        ],
    );
    assert!(
        read(with_history("url = \"http://127.0.0.1:9200\"\nindex = \"i\"\napi_key_env = \"K\""))
            .is_ok()
    );
    check(
        "[[cluster]]\nname = \"a\"\nkind = \"slurm\"\njob_history = {url = \"https://s\", index = \"i\"}",
        &["4:15: cluster.job_history: only an htcondor cluster has one"],
    );
}

#[test]
fn a_sink_has_a_name_and_one_target() {
    check(
        "[[push]]\nfile = \"a\"\n[[push]]\nname = \"b\"\n[[push]]\nname = \"b\"\nfile = \"-\"\nurl = \
         \"https://s\"\n[[push]]\nname = \"c\"\nurl = \"https://s\"\nindex = \"jobs-*\"\n",
        &[
            "1:1: push.name: missing: write name = \"search\"",
            "3:1: push: it has no target: write file = \"jobs.ndjson\", or the url and index of an \
             Elasticsearch or OpenSearch",
            "7:8: push.file: url stands here, too: choose one",
            "12:9: push.index: \"jobs-*\" is no name of an index",
        ],
    );
    check(
        "[[push]]\nname = \"a\"\nfile = \"-\"\n[[push]]\nname = \"a\"\nfile = \"b\"\nindex = \"i\"",
        &[
            "4:1: push.name: \"a\" is already the name of another",
            "7:1: unknown key \"index\": there are \"name\", \"file\"",
        ],
    );
}

#[test]
fn a_secret_that_is_not_there_is_told_without_it() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("key");
    let history = SearchServer {
        url: "https://s".into(),
        index: "i".into(),
        login: Login::ApiKey { place: SecretPlace::File(path.clone()) },
        ca_file: None,
    };
    let shown = path.display();
    assert_eq!(
        format!("{:#}", history.server(Purpose::Read).unwrap_err()),
        format!("cannot read {shown}: No such file or directory (os error 2)")
    );
    fs::write(&path, "two\nlines\n").unwrap();
    assert_eq!(
        format!("{:#}", history.server(Purpose::Read).unwrap_err()),
        format!("{shown} is not one line with a secret")
    );
    fs::write(&path, "hidden\n").unwrap();
    assert!(!format!("{:?}", history.server(Purpose::Read).unwrap()).contains("hidden"));
}

#[test]
fn single_sign_on_has_a_provider_and_an_address_of_ours() {
    let config = read(
        r#"[access.openid]
issuer = "http://localhost:9400/"
client_id = "plimsoll"
client_secret_file = "secret"
address = "https://plimsoll.example.org/hpc"
staff_groups = ["hpc"]
"#,
    );
    // The secret is read when it is needed, below the file's folder.
    let openid = config.unwrap().openid.unwrap();
    assert!(openid.is_reached_by_https());
    let error = openid.provider().unwrap_err();
    assert_eq!(error.to_string(), "cannot read /site/secret");
    let config = read(
        r#"[access.openid]
issuer = "http://localhost:9400/"
client_id = "plimsoll"
address = "https://plimsoll.example.org/hpc"
"#,
    );
    let provider = config.unwrap().openid.unwrap().provider().unwrap();
    assert_eq!(
        provider,
        serve::OpenId {
            issuer: "http://localhost:9400/".into(),
            client_id: "plimsoll".into(),
            client_secret: None,
            address: "https://plimsoll.example.org/hpc/".into(),
            user_claim: "preferred_username".into(),
            domain: None,
            groups_claim: "groups".into(),
            staff_groups: [].into(),
            scopes: vec!["profile".into()],
            certificates: None,
        }
    );
}

#[test]
fn what_is_wrong_with_single_sign_on_is_told() {
    check(
        r#"[access.openid]
issuer = "http://sso.example.org"
client_secret = "hidden"
adress = "https://plimsoll.example.org"
"#,
        &[
            "1:1: access.openid.address: missing: write address = \"https://plimsoll.example.org/\"",
            "1:1: access.openid.client_id: missing: write client_id = \"plimsoll\"",
            "2:10: access.openid.issuer: \"http://sso.example.org\" would say for all to read who somebody is: use https",
            "3:1: access.openid.client_secret: a secret does not belong here: put it into a file that only Plimsoll's user may read, and name that as client_secret_file",
            "4:1: unknown key \"adress\": did you mean \"address\"?",
        ],
    );
}

#[test]
fn what_is_wrong_with_access_is_told() {
    check(
        r#"[access]
anonymous = "pubic"
staf = ["root"]
[access.proxy]
header = "X Remote"
trusted = ["10.0.0.0/33"]
"#,
        &[
            "2:13: access.anonymous: there is no \"pubic\": did you mean \"public\"?",
            "3:1: unknown key \"staf\": did you mean \"staff\"?",
            "5:10: access.proxy.header: \"X Remote\" is no name of a header",
            "6:11: access.proxy.trusted: \"10.0.0.0/33\" is no address such as 10.1.2.3 or 10.0.0.0/8",
        ],
    );
}

#[test]
fn allocations_are_read() {
    let config = read(
        r#"
[groups]
physics = ["alice"]
[[allocation]]
name = "physics 2026"
group = "physics"
account = ["phys", "phys-gpu"]
cluster = "alder"
unit = "rgu-year"
amount = 40.5
from = 2026-04-01
to = "2027-04-01"
[constants]
students = 240
currency = "CAD"
"#,
    )
    .unwrap();
    let [allocation] = &config.allocations[..] else { panic!("{:?}", config.allocations) };
    assert_eq!(allocation.holders.accounts, ["phys", "phys-gpu"]);
    assert_eq!(allocation.holders.groups, ["physics"]);
    assert_eq!((allocation.unit.name(), allocation.amount), ("rgu-year", 40.5));
    assert_eq!(allocation.clusters, ["alder"]);
    assert_eq!([allocation.from, allocation.to].map(|day| day.year()), [2026, 2027]);
    assert_eq!(config.constants["students"], Constant::Number(240.0));
    assert_eq!(config.constants["currency"], Constant::Text("CAD".to_owned()));
}

#[test]
fn an_allocation_that_is_wrong_is_named_with_the_remedy() {
    check(
        r#"[groups]
physics = ["alice"]
[[allocation]]
name = "a"
group = "phyiscs"
unit = "gpu-yaer"
amount = 1
from = 2026-04-01
to = 2026-04-01
[[allocation]]
name = "b"
amount = -1
[[allocation]]
name = "c"
user = "alice"
"#,
        &[
            r#"5:9: allocation "a": group: there is no group "phyiscs" in [groups]: did you mean "physics"?"#,
            r#"6:8: allocation "a": unit: unknown unit "gpu-yaer": did you mean "gpu-year"?"#,
            r#"9:6: allocation "a": to: it ends before it begins, on 2026-04-01: 2026-04-01 is the day after its last"#,
            "12:10: allocation.amount: a number above zero",
            r#"13:1: allocation "c": unit: missing: write one of gpu-hour, gpu-year, rgu-hour, rgu-year, cpu-hour, cpu-year, node-hour, node-year"#,
            r#"13:1: allocation "c": amount: missing: write a number above zero"#,
            r#"13:1: allocation "c": from: missing: write a day such as 2026-04-01"#,
            r#"13:1: allocation "c": to: missing: write a day such as 2026-04-01"#,
        ],
    );
}

#[test]
fn a_file_of_allocations_stands_beside_the_configuration() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("plimsoll.toml");
    let read = || {
        check::config(&path, b"allocation_file = \"granted.csv\"\n", &environment(folder.path()))
    };
    let said = |error: ConfigError| error.problems;
    assert_eq!(
        read().map_err(said),
        Err(vec![
            "cannot read granted.csv, which allocation_file names: No such file or directory (os \
             error 2)"
                .to_owned()
        ])
    );
    let file = folder.path().join("granted.csv");
    fs::write(
        &file,
        "name,user,unit,amount,from,to\nann,ann,cpu-hour,many,2026-01-01,2027-01-01\n",
    )
    .unwrap();
    assert_eq!(
        read().map_err(said),
        Err(vec![
            "granted.csv:2: allocation \"ann\": amount: missing: write a number above zero"
                .to_owned()
        ])
    );
    fs::write(&file, "name,user,unit,amount,from,to\nann,ann,cpu-hour,9,2026-01-01,2027-01-01\n")
        .unwrap();
    assert_eq!(read().unwrap().allocations[0].amount, 9.0);
}

#[test]
fn who_gets_digests_and_letters_is_read() {
    let config = read(
        r#"
[mail]
server = "smtp.example.org"
user = "plimsoll"
password_file = "smtp-password"
from = "Plimsoll <plimsoll@example.org>"
retry_after = "10s"
[digest]
title = "CHTC"
to = ["ann@example.org", "Ben <ben@example.org>"]
sections = ["h200", "words", "gpus"]
[[digest.section]]
name = "h200"
heading = "Who held {device}"
report = "gpu-users"
devices = ["H200", "A100*"]
[[digest.webhook]]
name = "chat"
url_env = "CHAT_URL"
[notify]
address = "{user}@example.org"
quiet_hours = "18-8"
quiet_dates = ["2026-12-24..2027-01-02"]
[[notify.rule]]
name = "cpu"
report = "wasters"
amount = "cpu_hours_wasted"
floor = 10
share = "cpu_share"
ratio = 0.5
words = "{amount}"
"#,
    )
    .unwrap();
    let mail = config.mail.unwrap();
    assert_eq!((mail.port, mail.security), (587, source::Security::StartTls));
    let password = SecretPlace::File("/site/smtp-password".into());
    assert_eq!(mail.login, Some(("plimsoll".to_owned(), password)));
    assert_eq!(mail.retry_after, Duration::from_secs(10));
    let headings: Vec<&str> =
        config.digests.digest.parts.iter().map(|part| part.heading.as_str()).collect();
    assert_eq!(
        headings,
        ["Who held H200", "Who held A100*", "What the words mean", "How much of the GPUs was used"]
    );
    assert_eq!(config.digests.to.len(), 2);
    assert_eq!(config.digests.webhooks[0].url, SecretPlace::Variable("CHAT_URL".to_owned()));
    let floors: Vec<(&str, f64)> =
        config.notify.rules.iter().map(|rule| (rule.name.as_str(), rule.floor)).collect();
    assert_eq!(floors, [("cpu", 10.0), ("memory", 5000.0), ("gpu", 100.0)]);
    assert_eq!(config.notify.quiet_hours, Some((18, 8)));
}

#[test]
fn what_is_wrong_with_digests_and_letters_is_said() {
    check(
        r#"[mail]
server = "smtp.example.org"
password = "secret"
from = "nobody"
[digest]
to = ["ann@example.org", "ann@example.org", "ben"]
sections = ["gpu"]
[[digest.section]]
name = "mine"
heading = "Mine"
report = "gpu-user"
[[digest.section]]
name = "other"
heading = "Other"
report = "gpu-usage"
columns = ["clas"]
options = { by = "moon" }
[[digest.webhook]]
name = "chat"
url = "https://chat.example.org/secret"
[notify]
address = "ann@example.org"
quiet_days = ["Caturday"]
[[notify.rule]]
name = "states"
report = "states"
amount = "jobs"
floor = 1
share = "jobs"
ratio = 75
words = "w"
"#,
        &[
            "3:1: mail.password: a secret does not belong here: put it into a file that only \
             Plimsoll's user may read, and name that as password_file",
            "4:8: mail.from: \"nobody\" is no mail address",
            "6:6: digest.to: \"ann@example.org\" stands here twice",
            "6:6: digest.to: \"ben\" is no mail address",
            "7:12: digest.sections: there is no \"gpu\": did you mean \"gpus\"?",
            "11:10: digest.section.report: there is no report \"gpu-user\"; did you mean \
             \"gpu-users\"?",
            "16:11: digest.section.columns: gpu-usage has no column \"clas\": did you mean \"class\"?",
            "17:11: digest.section.options: there is no by \"moon\"; there are class, device, memory, \
             tier, machine, cluster, hour",
            "18:1: digest.webhook: \"chat\" has no address: name a url_file or a url_env that has it",
            "20:1: digest.webhook.url: a secret does not belong here: put it into a file that only \
             Plimsoll's user may read, and name that as url_file",
            "22:11: notify.address: \"ann@example.org\": write \"{user}@example.org\"",
            "23:14: notify.quiet_days: \"Caturday\" is no day: did you mean \"Saturday\"?",
            "24:1: notify.rule.report: states has no column \"user\"",
            "30:9: notify.rule.ratio: a part of one, such as 0.75",
        ],
    );
}

const SIMULATION: &str = "[simulation]
seed = 3
start = 2026-11-01T00:00:00Z
history_end = 2026-11-15T00:00:00Z
end = 2026-11-22T00:00:00Z
";

const ALDER: &str = "[[cluster]]\nname = \"alder\"\nkind = \"slurm\"\nsimulated = true\n";

#[test]
fn simulated_clusters_share_a_simulation() {
    let tamarack = ALDER.replace("alder", "tamarack").replace("slurm", "htcondor");
    let config = read(format!("{SIMULATION}{ALDER}{tamarack}")).unwrap();
    let time = |text: &str| text.parse::<Timestamp>().unwrap();
    let scale = source::simulated::Scale::demo_between(
        3,
        time("2026-11-01T00:00:00Z"),
        time("2026-11-22T00:00:00Z"),
    );
    let expected = Some(Simulation::new(scale, time("2026-11-15T00:00:00Z")));
    assert_eq!(config.clusters.len(), 2);
    for cluster in &config.clusters {
        assert_eq!(cluster.simulation, expected);
    }
    assert_eq!(config.simulation(), expected.as_ref());
    let real = read("[[cluster]]\nname = \"alder\"\nkind = \"slurm\"\n").unwrap();
    assert_eq!(real.simulation(), None);
}

#[test]
fn a_simulation_is_whole_and_in_order() {
    check(
        format!("[simulation]\nsead = 3\nend = \"soon\"\n{ALDER}"),
        &[
            "1:1: simulation.seed: missing: write seed = 1",
            "1:1: simulation.start: missing: write start = 2026-11-01T00:00:00Z",
            "1:1: simulation.history_end: missing: write history_end = 2026-11-15T00:00:00Z",
            "2:1: unknown key \"sead\": did you mean \"seed\"?",
            "3:7: simulation.end: expected a time with its zone, such as 2026-11-01T00:00:00Z, found a \
             string",
        ],
    );
    let check_times = |from: &str, to: &str, problem: &str| {
        check(SIMULATION.replace(from, to) + ALDER, &[problem]);
    };
    check_times(
        "start = 2026-11-01T00:00:00Z",
        "start = 2026-11-01",
        "3:9: simulation.start: expected a time with its zone, such as 2026-11-01T00:00:00Z, found \
         2026-11-01",
    );
    check_times(
        "2026-11-01T",
        "2026-11-15T",
        "4:15: simulation.history_end: it must be after simulation.start",
    );
    check_times(
        "2026-11-22T",
        "2026-11-14T",
        "5:7: simulation.end: it must not be before simulation.history_end",
    );
    check_times(
        "2026-11-22T",
        "2062-11-22T",
        "5:7: simulation.end: it may be at most 400 days after simulation.start",
    );
}

#[test]
fn a_simulated_cluster_is_one_of_the_simulated_site() {
    check(
        ALDER,
        &["4:13: cluster.simulated: the file has no [simulation]: write one with seed, start, \
           history_end and end, as `plimsoll demo` does"],
    );
    check(
        format!("{SIMULATION}{}", ALDER.replace("alder", "older")),
        &["7:8: cluster.name: the simulated site has no \"older\": did you mean \"alder\"?"],
    );
    check(
        format!("{SIMULATION}{}command_prefix = [\"ssh\"]\n", ALDER.replace("slurm", "htcondor")),
        &[
            "8:8: cluster.kind: the simulated alder is of kind \"slurm\"",
            "10:18: cluster.command_prefix: a simulated cluster runs no commands: remove this line",
        ],
    );
    check(
        SIMULATION,
        &["1:1: simulation: no cluster is simulated: write simulated = true below a [[cluster]]"],
    );
    check(
        format!("{SIMULATION}{ALDER}[[cluster]]\nname = \"maple\"\nkind = \"slurm\"\n"),
        &[
            "10:1: cluster: simulated and real clusters cannot share a file: write simulated = true, or \
           move this cluster to a file of its own",
        ],
    );
}
