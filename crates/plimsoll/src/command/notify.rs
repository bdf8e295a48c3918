//! `plimsoll notify`: letters to those who hold what they do not use.

use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, Result, bail};
use lake::Lake;
use query::{Analysis, Question};
use report::{Column, Report, Table, Unit, Value};
use source::{Letter, Live, Machine};
use view::Look;

use crate::cli;
use crate::command::output::terminal;
use crate::config::Config;
use crate::notify::{Case, Standing, cases, quiet, text};
use crate::post::{Ledger, Sent, identifier, send};
use crate::{Outcome, complain};

/// What the ledger calls these letters.
const WHAT: &str = "notify";

pub(crate) async fn run(config: &Config, arguments: &cli::Notify) -> Result<Outcome> {
    let machine = Live::default();
    let now = config.now();
    if arguments.send {
        if config.mail.is_none() || config.notify.address.is_none() {
            bail!(
                "letters need a [mail] and `address = \"{{user}}@example.org\"` below [notify] in \
                 plimsoll.toml: see docs/digest.md"
            );
        }
        if let Some(reason) = quiet(&config.notify, &config.zone, now) {
            complain(&format!("nobody is told now: {reason}"));
            return Ok(Outcome::Done);
        }
    }
    let lake = Lake::open(&config.data_dir)?;
    let (question, newest) = arguments.question(&lake, config, now).await?;
    if let Some(newest) = newest {
        let old = format!(
            "the newest data is from {}, {} ago",
            question.period.moment(newest.time),
            newest.age()
        );
        if arguments.send {
            bail!("{old}: collect first, or name the period of the letters with --from and --to");
        }
        complain(&format!("warning: {old}; --send would send nothing"));
    }
    let (reports, rightsizing) = asked(&lake, config, &question).await?;
    // Open before anybody is chosen: what another sends meanwhile would not be known.
    let mut ledger = match arguments.send {
        true => Ledger::open(config.state_dir()?)?,
        false => Ledger::look(config.state_dir()?)?,
    };
    let tables = reports.iter().map(|it| (it.name.clone(), it.table.clone())).collect();
    let last = |user: &str| ledger.last(WHAT, user);
    let cases = cases(&config.notify, &tables, last, &config.zone, now);
    let list = list(&cases, &reports, &question);
    if let Some(file) = &arguments.csv {
        write_csv(&list, file)?;
    }
    let letters = letters(config, &cases, &rightsizing, &question, now);
    if arguments.send {
        return deliver(config, &machine, &letters, &question, &mut ledger);
    }
    show(&list, &letters, arguments.dry_run)?;
    Ok(Outcome::Done)
}

/// What the rules' analyses say, and what to advise.
async fn asked(lake: &Lake, config: &Config, question: &Question) -> Result<(Vec<Report>, Report)> {
    let mut names: Vec<&str> = config.notify.rules.iter().map(|it| it.report.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names.push("rightsizing");
    let analyses: Vec<&Analysis> = names.into_iter().map(query::analysis).collect::<Result<_>>()?;
    let mut reports = query::run_all(lake, &analyses, question).await?;
    let rightsizing = reports.pop().expect("it was asked last");
    Ok((reports, rightsizing))
}

/// A letter, and the user whom it is about.
struct Addressed {
    user: String,
    letter: Letter,
}

fn letters(
    config: &Config,
    cases: &[Case],
    rightsizing: &Report,
    question: &Question,
    now: jiff::Timestamp,
) -> Vec<Addressed> {
    let mail = config.mail.as_ref();
    let due = cases.iter().filter_map(|case| match &case.standing {
        Standing::Due(address) => Some((case, address)),
        _ => None,
    });
    let written = due.map(|(case, address)| {
        let period = &question.period;
        let letter = Letter {
            id: identifier(&[WHAT, &of(question), &case.user]),
            from: mail.map_or_else(|| address.clone(), |mail| mail.from.clone()),
            reply_to: mail.and_then(|mail| mail.reply_to.clone()),
            to: address.clone(),
            subject: format!("How your jobs used what they held, {}", period.named()),
            time: now,
            text: text(case, &config.notify, &rightsizing.table, period),
            hypertext: None,
        };
        Addressed { user: case.user.clone(), letter }
    });
    written.collect()
}

/// The time that letters are about, for the ledger.
fn of(question: &Question) -> String {
    format!("{} to {}", question.period.start, question.period.end)
}

/// Sends each, and notes it; one who cannot be reached keeps nobody else from it.
fn deliver(
    config: &Config,
    machine: &dyn Machine,
    letters: &[Addressed],
    question: &Question,
    ledger: &mut Ledger,
) -> Result<Outcome> {
    let mail = config.mail.as_ref().context("there is no [mail]")?;
    let server = mail.server()?;
    let mut outcome = Outcome::Done;
    for Addressed { user, letter } in letters {
        match send(machine, letter, &server, mail.patience()) {
            Ok(()) => {
                let sent = Sent { what: WHAT.to_owned(), of: of(question), to: user.clone() };
                ledger.note(sent, machine.now())?;
                complain(&format!("sent to {user}"));
            }
            Err(failure) => {
                complain(&format!("error: cannot send to {user}: {failure}"));
                outcome = Outcome::Findings;
            }
        }
    }
    complain(&format!("{} users were due a letter", letters.len()));
    Ok(outcome)
}

/// Who wasted what by which rule, and whether there is a letter, for staff.
fn list(cases: &[Case], reports: &[Report], question: &Question) -> Report {
    let column = |name: &str, heading: &str, unit| Column {
        name: name.to_owned(),
        heading: heading.to_owned(),
        unit,
    };
    let columns = vec![
        column("user", "User", Unit::Label),
        column("rule", "Rule", Unit::Label),
        column("amount", "Wasted", Unit::Average),
        column("unit", "Unit", Unit::Label),
        column("percent", "Share %", Unit::Percent),
        column("letter", "Letter", Unit::Label),
        column("address", "Address", Unit::Label),
        column("told", "Last told", Unit::Time),
    ];
    let words = |text: &str| Value::Text(text.to_owned());
    let rows = cases.iter().flat_map(|case| {
        let (address, told) = match &case.standing {
            Standing::Due(address) => (words(address), Value::Unknown),
            Standing::Told(time) => (Value::Unknown, Value::Time(*time)),
            Standing::Excluded | Standing::Nowhere => (Value::Unknown, Value::Unknown),
        };
        case.findings.iter().map(move |finding| {
            vec![
                words(&case.user),
                words(&finding.rule),
                Value::Number(finding.amount),
                words(finding.unit.sign()),
                Value::Number(finding.percent),
                words(case.standing.name()),
                address.clone(),
                told.clone(),
            ]
        })
    });
    let table = Table { columns, rows: rows.collect() };
    Report {
        name: WHAT.to_owned(),
        title: "Who held what they did not use, and gets a letter?".to_owned(),
        period: question.period.clone(),
        coverage: reports.first().map(|report| report.coverage.clone()).unwrap_or_default(),
        table,
        charts: Vec::new(),
        notes: Vec::new(),
    }
}

fn write_csv(list: &Report, file: &Path) -> Result<()> {
    let csv = view::by_name("csv").expect("CSV is one of the formats");
    let bytes = csv.render(std::slice::from_ref(list), &Look::default());
    std::fs::write(file, bytes).with_context(|| format!("cannot write {}", file.display()))
}

/// The list, and the letters as they would be sent.
fn show(list: &Report, letters: &[Addressed], is_dry_run: bool) -> Result<()> {
    let format = view::by_name("text").expect("text is one of the formats");
    let list = format.render(std::slice::from_ref(list), &terminal());
    let mut text = String::from_utf8_lossy(&list).into_owned();
    for Addressed { letter, .. } in letters {
        let Letter { to, subject, text: words, .. } = letter;
        text += &format!("\nTo: {to}\nSubject: {subject}\n\n{words}");
    }
    text += match is_dry_run {
        true => "\nNothing was sent: --dry-run.\n",
        false => "\nNothing was sent: --send sends the letters.\n",
    };
    io::stdout().write_all(text.as_bytes()).context("cannot write")
}
