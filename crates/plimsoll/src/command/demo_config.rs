//! The demo's `plimsoll.toml`: what its accounts were granted, so that one has used more and one less
//! than its share of the time allows.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use jiff::SignedDuration;
use jiff::tz::TimeZone;
use lake::Lake;
use query::{Memory, Question};
use report::{Period, Report, Value};
use source::simulated::Site;

/// The file's name, in the demo's folder.
pub(super) const FILE: &str = "plimsoll.toml";

/// Writes it, by what the accounts of the simulated cluster used in a period.
pub(super) async fn write(
    lake: &Lake,
    folder: &Path,
    period: &Period,
    memory: &Memory,
) -> Result<()> {
    let question = Question {
        clusters: vec![Site::slurm_cluster().to_owned()],
        memory: memory.clone(),
        ..Question::about(period.clone())
    };
    let report = query::run(lake, query::analysis("usage-by-account")?, &question).await?;
    let folders = match lake.folder() == folder.canonicalize().ok().as_deref() {
        true => "data_dir = \".\"".to_owned(),
        false => format!("data_dir = {:?}\nstate_dir = \".\"", lake.place().to_string()),
    };
    let text = text(&folders, &used(&report), period);
    let file = folder.join(FILE);
    fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))
}

/// What an account used.
struct Used {
    account: String,
    cpu_hours: f64,
    gpu_hours: f64,
}

/// The accounts, those with most GPU hours first.
fn used(report: &Report) -> Vec<Used> {
    let place = |name: &str| report.table.columns.iter().position(|column| column.name == name);
    let number = |row: &[Value], name: &str| match row.get(place(name)?)? {
        Value::Number(number) => Some(*number),
        _ => None,
    };
    let mut used: Vec<Used> = report
        .table
        .rows
        .iter()
        .filter_map(|row| {
            let Value::Text(account) = row.get(place("account")?)? else { return None };
            Some(Used {
                account: account.clone(),
                cpu_hours: number(row, "cpu_hours")?,
                gpu_hours: number(row, "gpu_hours")?,
            })
        })
        .collect();
    used.sort_by(|one, other| other.gpu_hours.total_cmp(&one.gpu_hours));
    used
}

/// The period is the first half of what was granted: twice of what was used is exactly on pace.
fn text(folders: &str, used: &[Used], period: &Period) -> String {
    let seconds = period.end.as_second() - period.start.as_second();
    let end = period.end + SignedDuration::from_secs(seconds);
    let day = |moment: jiff::Timestamp| moment.to_zoned(TimeZone::UTC).date();
    let (from, to) = (day(period.start), day(end));
    let mut text = format!(
        "\
# The demo's site. Everything else is as it is without a file.
{folders}
zone = \"UTC\"
"
    );
    let mut grant = |name: &str, used: &Used, unit: &str, amount: f64| {
        let (account, cluster) = (&used.account, Site::slurm_cluster());
        let amount = amount.ceil();
        text += &format!(
            "\n[[allocation]]\nname = \"{account} {name}\"\naccount = \"{account}\"\ncluster = \
             \"{cluster}\"\nunit = \"{unit}\"\namount = {amount}\nfrom = {from}\nto = {to}\n"
        );
    };
    if let [first, others @ ..] = used {
        grant("GPUs", first, "gpu-hour", 0.8 * first.gpu_hours);
        grant("CPUs", first, "cpu-hour", 2.0 * first.cpu_hours);
        if let Some(second) = others.first() {
            grant("GPUs", second, "gpu-hour", 3.0 * second.gpu_hours);
        }
    }
    text += "\n[constants]\nprice_per_kwh = 0.12\ncarbon_kg_per_kwh = 0.38\nstudents = 240\n";
    text
}
