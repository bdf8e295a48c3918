//! The documents that follow from the code agree with it. `PLIMSOLL_UPDATE_DOCS=1 cargo test -p
//! plimsoll docs` writes them anew.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use query::metric::{COMPATIBLE_PAGES, MetricOptions, granted_families, own};
use query::{ANALYSES, BACKFILL_TABLES, TERMS, Values};
use record::{Column, MergeRule, TABLES};
use report::MetricKind;
use view::FORMATS;

use crate::program::plimsoll;

fn check(name: &str, expected: &str) {
    let path = root().join("docs").join(name);
    #[expect(clippy::disallowed_methods, reason = "how a developer asks for the documents")]
    if std::env::var_os("PLIMSOLL_UPDATE_DOCS").is_some() {
        fs::write(&path, expected).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == expected,
        "docs/{name} is not what the code says; PLIMSOLL_UPDATE_DOCS=1 cargo test -p plimsoll docs"
    );
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

const GENERATED: &str = "<!-- Generated from the code; a test compares. -->\n\n";

/// How a row is made of several observations, and the heading of the columns.
const MERGED: &str = "A row is merged from all observations of its key. The order in which they come does not matter. The column \
`merge` says which value counts:

- `latest`: the value of the latest observation, even if it is blank. An attempt waits, runs and ends. An observation \
of a later phase counts as later. Within a phase the scheduler counts before Elasticsearch, and both before an import. \
Then the time decides.
- `kept`: the latest known value. A later observation that lacks it does not erase it. `earlier_values` names the columns \
whose value is not from the latest observation.
- `ended`: `kept` among the observations after the end of the attempt. Before its end it is `latest`: a limit may be lifted, \
and the time that an attempt has run so far is not the time that it ran.
- `measured`: the most complete measurement. SLURM purges steps before jobs, and an observation after the purge \
has lower values, zeros or none. So the largest value counts. Exceptions: a mean of GPU use (`JS1`) counts before a largest \
sample, and values from Elasticsearch, which may be rounded up, count only if there are no others.
- `derived`: computed from the merged row.

| column | type | unit | merge | meaning |
|---|---|---|---|---|
";

#[test]
fn tables() {
    let mut text = format!(
        "# Tables\n\n{GENERATED}The tables of the lake, each in `processed/<table>/cluster=…/date=…/`. \
         Every table has also the columns `cluster` and `date` (of the moment below, in UTC), which \
         the path says. Moments are microseconds in UTC. A null is unknown, never zero.\n"
    );
    for table in TABLES {
        let key: Vec<String> = table.key.iter().map(|column| format!("`{column}`")).collect();
        write!(
            text,
            "\n## `{}`\n\n{}\n\nKey: `cluster`, {}. Date of: `{}`. Sorted by: {}.\n\n",
            table.name,
            table.meaning,
            key.join(", "),
            table.moment,
            table.sort.iter().map(|column| format!("`{column}`")).collect::<Vec<_>>().join(", "),
        )
        .unwrap();
        let is_merged = |column: &Column| column.merge_rule != MergeRule::Latest;
        let has_rules = table.columns.iter().any(is_merged);
        text += if has_rules {
            MERGED
        } else {
            "| column | type | unit | meaning |\n|---|---|---|---|\n"
        };
        for column in table.columns {
            let kind = match (column.data_type)() {
                arrow_type if arrow_type.to_string().starts_with("Timestamp") => {
                    "moment".to_owned()
                }
                arrow_type => arrow_type.to_string().to_lowercase(),
            };
            let required = if column.nullable { "" } else { ", always known" };
            let rule = match column.merge_rule {
                _ if !has_rules => "",
                MergeRule::Latest => " latest |",
                MergeRule::Kept => " kept |",
                MergeRule::Ended => " ended |",
                MergeRule::Measured => " measured |",
                MergeRule::Derived => " derived |",
            };
            writeln!(
                text,
                "| `{}` | {kind}{required} | {} |{rule} {} |",
                column.name, column.unit, column.meaning
            )
            .unwrap();
        }
    }
    text += "\n# Terms\n\nWords that reports use, each a view over the tables, cut to the period asked about.\n\n| term | meaning |\n|---|---|\n";
    for term in TERMS {
        writeln!(text, "| `{}` | {} |", term.name, term.meaning).unwrap();
    }
    for (name, meaning) in BACKFILL_TABLES {
        writeln!(text, "| `{name}` | {meaning} |").unwrap();
    }
    check("tables.md", &text);
}

#[test]
fn reports() {
    let mut text = format!(
        "# Reports\n\n{GENERATED}`plimsoll report NAME`, `/reports/NAME` on the web. [The \
         period](first-day.md#the-period) ends now, or at the newest data if that is more than one day old.\n"
    );
    for analysis in ANALYSES {
        write!(
            text,
            "\n## {}\n\n{}\n\n| column | unit | meaning |\n|---|---|---|\n",
            analysis.name, analysis.question
        )
        .unwrap();
        for column in analysis.columns {
            writeln!(text, "| `{}` | {} | {} |", column.name, column.unit.sign(), column.meaning)
                .unwrap();
        }
        if !analysis.options.is_empty() {
            text += "\n| option | values | meaning |\n|---|---|---|\n";
        }
        for option in analysis.options {
            let values = match option.values {
                Values::OneOf(alternatives) => {
                    let words = alternatives.iter().map(|one| format!("`{}`", one.word));
                    words.collect::<Vec<_>>().join(", ")
                }
                Values::Filter => "a name".to_owned(),
                Values::Checked(_) => "a name or pattern".to_owned(),
                Values::Subject => "a name, which must be said".to_owned(),
                Values::Device => "a model".to_owned(),
                Values::Moment => "a day or moment".to_owned(),
                Values::Duration(unsaid) => format!("a length of time; `{unsaid}` unless said"),
                Values::Number(unsaid) => format!("a number; `{unsaid}` unless said"),
            };
            writeln!(text, "| `--{}` | {values} | {} |", option.name, option.meaning).unwrap();
        }
        if analysis.drawn.is_some() {
            writeln!(text, "\n`plimsoll chart {}` draws it.", analysis.name).unwrap();
        }
        if !analysis.notes.is_empty() {
            writeln!(text, "\n{}", analysis.notes.join(" ")).unwrap();
        }
    }
    text += "\n# Formats\n\n| `--format` | files | what it is |\n|---|---|---|\n";
    for format in FORMATS {
        writeln!(
            text,
            "| `{}` | `.{}` | {} |",
            format.name(),
            format.extensions().join("`, `."),
            format.meaning()
        )
        .unwrap();
    }
    check("reports.md", &text);
}

#[test]
fn metrics() {
    let mut text = format!(
        "# Metrics\n\n{GENERATED}`plimsoll serve` shows these at `/metrics`, in OpenMetrics to who \
         asks for it, and `plimsoll export metrics` writes them to a file. No scheduler is asked for \
         that: they are what the last collection saw, so they are as fresh as \
         `plimsoll_source_age_seconds` says, and a scheduler that does not answer shows as \
         `plimsoll_up` 0 beside what was last seen, not as zeros. What is not known is not there.\n\n\
         | metric | type | labels | meaning |\n|---|---|---|---|\n"
    );
    let options = MetricOptions::default();
    let of_looks = own(&[], &options, &query::Judgement::default(), jiff::Timestamp::UNIX_EPOCH);
    for family in of_looks.into_iter().chain(granted_families(None)) {
        let kind = match family.kind {
            MetricKind::Gauge => "gauge",
            MetricKind::Counter | MetricKind::ForeignCounter => "counter",
        };
        let labels = family.labels.iter().map(|label| format!("`{label}`"));
        writeln!(
            text,
            "| `{}` | {kind} | {} | {} |",
            family.sample_name(),
            labels.collect::<Vec<_>>().join(", "),
            family.help
        )
        .unwrap();
    }
    text += METRIC_STATES;
    for page in &COMPATIBLE_PAGES {
        writeln!(text, "| `/metrics/{}` | {} |", page.name, page.meaning).unwrap();
    }
    text += SCHEDULER_LOAD;
    check("metrics.md", &text);
}

const METRIC_STATES: &str = "
## States of CPUs, memory and GPUs

What a job holds is `allocated`, whatever the state of its node. The rest is `idle` where a job could
start, and otherwise has the node's own state: `down`, `drained`, `draining` (while jobs still run
there), `fail`, `maint`, `reboot`, `powering_down`, `blocked`, `invalid`, `not_responding`, `future`,
`unknown`. Nodes that are reserved, planned or powered down to save energy take jobs, so what is free
there is idle. `system` is what SLURM keeps for itself. The states of one resource add up to all of it.

A free GPU on a node without a free CPU is `stranded`, for nobody can use it. Where jobs share CPUs,
`idle_gpu_needs_cpu = false` in `[metrics]` of plimsoll.toml makes it idle.

The first `top` users and accounts (20, in `[metrics]`) by what they hold have numbers of their own;
the others are added up as `(others)`.

The classes of `plimsoll_slot_gpus` and `plimsoll_backfill_open_gpus` are those of `report gpu-usage`, by
`[gpu]` of plimsoll.toml.

A source is up for three cadences after it answered: set `cadence` to how often you collect.

## Names of other exporters

Each page is about one cluster, `?cluster=NAME`; with one SLURM cluster it may be left out.

| page | names |
|---|---|
";

const SCHEDULER_LOAD: &str = "
## The load on the scheduler

One collection asks these, once each, whoever reads the metrics and however often.
`plimsoll_source_commands_total` counts them, `plimsoll_source_duration_seconds` times them.

| scheduler | command | who answers | when |
|---|---|---|---|
| SLURM | `scontrol show node` | slurmctld | each cycle |
| SLURM | `scontrol show job` | slurmctld | each cycle, where there are GPUs |
| SLURM | `squeue` | slurmctld | each cycle: what waits and what runs in one answer, as text |
| SLURM | `sacct` | slurmdbd | each cycle for the time since the last; one more for each day that is not complete |
| HTCondor | `condor_status` | collector | each cycle: the slots with GPUs, and of other machines all slots but dynamic ones |
| HTCondor | `condor_status -any` | collector | each cycle: the access points and negotiators in one answer |
| HTCondor | `condor_q` | each access point | each cycle |
| HTCondor | `condor_history` | each access point | each cycle for the time since the last |

Each has a time limit (a minute, `sacct` ten, `condor_history` five; `time_limit` of a cluster sets
another); one that fails is asked again after 2 and 10 seconds, one that took all of its time in the next
cycle. docs/performance.md has what a cycle costs.

What the lake says of the last hours is added up by `plimsoll serve` after a collection, beside the
scrapes: `1h` each time, `24h` when half an hour has passed and `7d` when three and a half have;
`plimsoll_recent_timestamp_seconds` says when. `plimsoll export metrics` adds it up when it is called.

Alert and recording rules are in `packaging/prometheus`, a dashboard is in `packaging/grafana`.
";

#[test]
fn command_line() {
    let folder = tempfile::tempdir().unwrap();
    let help = |words: &[&str]| {
        let said = plimsoll(folder.path(), words);
        assert_eq!(said.status, 0);
        said.stdout
    };
    let main = help(&["--help"]);
    let mut text = format!("# Command line\n\n{GENERATED}```\n{main}```\n");
    for command in commands_in(&main) {
        let own = help(&[command, "--help"]);
        write!(text, "\n## plimsoll {command}\n\n```\n{own}```\n").unwrap();
        for below in commands_in(&own) {
            let own = help(&[command, below, "--help"]);
            write!(text, "\n## plimsoll {command} {below}\n\n```\n{own}```\n").unwrap();
        }
    }
    check("command-line.md", &text);
}

/// The commands that a help lists, but for the help itself.
fn commands_in(help: &str) -> impl Iterator<Item = &str> {
    let commands = help.split_once("Commands:\n").map_or("", |(_, commands)| commands);
    commands
        .lines()
        .take_while(|line| !line.is_empty())
        // What a meaning takes in further lines is set in deeper.
        .filter(|line| !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|command| *command != "help")
}

/// Every command that the README shows is one that the program has.
#[test]
fn the_readme_shows_commands_that_there_are() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let main = plimsoll(&std::env::temp_dir(), &["--help"]).stdout;
    let mut shown = 0;
    for line in readme.lines().map(str::trim_start).filter(|line| line.starts_with("plimsoll ")) {
        let command = line
            .split_whitespace()
            .skip(1)
            .find(|word| !word.starts_with('-') && !word.contains('/'));
        let command = command.unwrap();
        assert!(main.contains(&format!("\n  {command}")), "the README shows {line:?}");
        shown += 1;
    }
    assert!(shown >= 5, "the README shows {shown} commands");
}
