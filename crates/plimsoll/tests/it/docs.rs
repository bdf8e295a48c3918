//! The documents that follow from the code agree with it. `PLIMSOLL_UPDATE_DOCS=1 cargo test -p
//! plimsoll docs` writes them anew.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use query::{ANALYSES, BACKFILL_TABLES, TERMS, Values};
use record::TABLES;
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
            "\n## `{}`\n\n{}\n\nKey: `cluster`, {}. Date of: `{}`. Sorted by: {}.\n\n| column | type | unit | meaning |\n|---|---|---|---|\n",
            table.name,
            table.meaning,
            key.join(", "),
            table.moment,
            table.sort.iter().map(|column| format!("`{column}`")).collect::<Vec<_>>().join(", "),
        )
        .unwrap();
        for column in table.columns {
            let kind = match (column.data_type)() {
                arrow_type if arrow_type.to_string().starts_with("Timestamp") => {
                    "moment".to_owned()
                }
                arrow_type => arrow_type.to_string().to_lowercase(),
            };
            let required = if column.nullable { "" } else { ", always known" };
            writeln!(
                text,
                "| `{}` | {kind}{required} | {} | {} |",
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
    let mut text =
        format!("# Reports\n\n{GENERATED}`plimsoll report NAME`, `/report/NAME` on the web.\n");
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
                Values::Device => "a model".to_owned(),
                Values::Moment => "a day or moment".to_owned(),
                Values::Duration(unsaid) => format!("a length of time; `{unsaid}` unless said"),
                Values::Number(unsaid) => format!("a number; `{unsaid}` unless said"),
            };
            writeln!(text, "| `--{}` | {values} | {} |", option.name, option.meaning).unwrap();
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
