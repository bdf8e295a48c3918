//! The demo's `plimsoll.toml`.

use std::path::Path;

use anyhow::Result;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use lake::{Lake, Place};
use query::Question;
use report::{Period, Report, Value};
use source::simulated::{Simulation, Site};

use crate::config::Config;

/// The file's name, in the demo's folder.
pub(super) const FILE: &str = "plimsoll.toml";

/// All of the file that is known before anything was collected.
pub(super) fn site(place: &Place, folder: &Path, simulation: &Simulation) -> String {
    let folders = match place.folder() == folder.canonicalize().ok().as_deref() {
        true => "data_dir = \".\"".to_owned(),
        false => format!("data_dir = {:?}\nstate_dir = \".\"", place.to_string()),
    };
    let (alder, tamarack) = (Site::slurm_cluster(), Site::condor_pool());
    let (scale, history_end) = (simulation.scale(), simulation.history_end());
    let (seed, start, end) = (scale.seed, scale.start, scale.end);
    let hosts = simulation.site().institution_hosts();
    let hosts: String = hosts.iter().map(|host| format!("  {host:?},\n")).collect();
    let groups: String =
        Site::groups().into_iter().map(|(group, users)| format!("{group} = {users:?}\n")).collect();
    format!(
        r#"# The site of `plimsoll demo`: a SLURM cluster and an HTCondor pool, both simulated.
# In this folder every command works, for example `plimsoll nodes`, `plimsoll collect` or `plimsoll serve`.
{folders}
zone = "UTC"

# The same seed and times give the same site.
[simulation]
seed = {seed}
start = {start}
history_end = {history_end}  # `plimsoll demo` collected until here
end = {end}  # the site's clock stops here; until then `plimsoll collect` finds new jobs

[[cluster]]
name = "{alder}"
kind = "slurm"
simulated = true  # real clusters do not have this line
cadence = "10m"  # how often nodes, GPUs and the queue are sampled
backfill_partitions = ["preempt"]  # other jobs preempt those in this partition

[[cluster]]
name = "{tamarack}"
kind = "htcondor"  # its slots report themselves which of them are backfill
simulated = true
cadence = "10m"

# Machines that the institution owns. The pool reports only the owners that are labs.
[gpu]
institution_owned = [
{hosts}]

# Users by research group, for `plimsoll report usage-by-group`.
[groups]
{groups}
# Addresses of users, for the emails that `plimsoll notify --dry-run` shows.
[notify]
address = "{{user}}@example.org"

# Numbers for other dashboards, at /api/v1/constants.
[constants]
price_per_kwh = 0.12
carbon_kg_per_kwh = 0.38
students = 240
"#
    )
}

/// The rest of the file: allocations of the accounts of the SLURM cluster, one of them used faster and
/// one slower than its time passes.
pub(super) async fn allocations(lake: &Lake, config: &Config) -> Result<String> {
    let Some(simulation) = config.simulation() else { return Ok(String::new()) };
    let (start, end) = (simulation.scale().start, simulation.history_end());
    let period = Period { start, end, zone: config.zone.clone() };
    let question = Question {
        clusters: vec![Site::slurm_cluster().to_owned()],
        ..Question::about(period.clone())
    };
    let report = query::run(lake, query::analysis("usage-by-account")?, &question).await?;
    Ok(text(&used(&report), &period))
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

/// The period is the first half of each allocation: twice what was used is exactly on pace.
fn text(used: &[Used], period: &Period) -> String {
    let seconds = period.end.as_second() - period.start.as_second();
    let end = period.end + SignedDuration::from_secs(seconds);
    let day = |moment: Timestamp| moment.to_zoned(TimeZone::UTC).date();
    let (from, to) = (day(period.start), day(end));
    let mut text = "\n# What accounts were granted, for `plimsoll allocations`.\n".to_owned();
    let mut grant = |name: &str, used: &Used, unit: &str, amount: f64| {
        let (account, cluster) = (&used.account, Site::slurm_cluster());
        let amount = amount.ceil();
        text += &format!(
            "[[allocation]]\nname = \"{account} {name}\"\naccount = \"{account}\"\ncluster = \
             \"{cluster}\"\nunit = \"{unit}\"\namount = {amount}\nfrom = {from}\nto = {to}\n\n"
        );
    };
    if let [first, others @ ..] = used {
        grant("GPUs", first, "gpu-hour", 0.8 * first.gpu_hours);
        grant("CPUs", first, "cpu-hour", 2.0 * first.cpu_hours);
        if let Some(second) = others.first() {
            grant("GPUs", second, "gpu-hour", 3.0 * second.gpu_hours);
        }
    }
    text.truncate(text.trim_end().len());
    text + "\n"
}
