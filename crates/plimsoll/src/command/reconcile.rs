//! `plimsoll reconcile`: our totals beside those of `sreport`, and why they differ.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use lake::{Lake, Tracker};
use query::Question;
use report::{Coverage, Period, Report, Table, Unit, Value};
use source::slurm::{Sreport, Utilization, sreport};

use crate::Outcome;
use crate::cli::Reconcile;
use crate::command::{live, output};
use crate::config::Config;

pub(crate) async fn run(config: &Config, arguments: &Reconcile) -> Result<Outcome> {
    output::format(&arguments.output)?;
    let now = config.now();
    let clusters = live::clusters(config, &arguments.about.cluster)?;
    let lake = Lake::open(&config.data_dir)?;
    let asked = arguments.about.question(&lake, config, now).await?;
    let period = whole_hours(&asked.period, now)?;
    let mut rejects = 0;
    let round = live::ask_slurm(&clusters, |cluster, machine| {
        let command = sreport(period.start, period.end, cluster.slurm_cluster.as_deref());
        let parsed = live::records(&cluster.name, machine, &command, Sreport::new())?;
        rejects += parsed.rejects.len();
        Ok(parsed.records)
    })?;

    let mut rows = Vec::new();
    let mut notes = round.notes;
    let mut coverage = Coverage::default();
    let mut agrees = true;
    for (cluster, theirs) in &round.answers {
        let question = Question {
            clusters: vec![cluster.clone()],
            memory: config.memory.clone(),
            period_end: asked.period_end.clone(),
            ..Question::about(period.clone())
        };
        let ours = query::sql(&lake, &our_sums(&period), usize::MAX, &question)
            .await
            .with_context(|| format!("cannot add up the jobs of {cluster}"))?;
        coverage.clusters.extend(ours.coverage.clusters);
        coverage.skipped.extend(ours.coverage.skipped);
        coverage.ends_at_newest = ours.coverage.ends_at_newest;
        let lacking = days_lacking(&lake.tracker(cluster).await?, &period)?;
        let comparison = Comparison {
            ours: our_totals(&ours.table)?,
            theirs: their_totals(theirs),
            period: &period,
            lacking: &lacking,
            tolerance: arguments.tolerance,
        };
        agrees &= comparison.agrees();
        rows.extend(comparison.rows(cluster));
        notes.extend(comparison.notes(cluster, theirs));
    }
    notes.push(format!(
        "A difference within {} % or a minute is called none: sreport adds up whole hours, and cuts \
         each job to whole seconds in each.",
        arguments.tolerance
    ));
    let report = Report {
        name: "reconcile".to_owned(),
        title: "Do our totals agree with sreport's?".to_owned(),
        period,
        coverage,
        table: Table { columns: COLUMNS.iter().map(live::column).collect(), rows },
        notes,
        charts: Vec::new(),
    };
    let written = output::write(&[report], &arguments.output)?;
    Ok(if agrees && rejects == 0 && round.is_whole { written } else { Outcome::Findings })
}

const COLUMNS: [(&str, &str, Unit); 10] = [
    ("cluster", "Cluster", Unit::Label),
    ("account", "Account", Unit::Label),
    ("user", "User", Unit::Label),
    ("cpu_hours", "CPU hours", Unit::Hours),
    ("sreport_cpu_hours", "by sreport", Unit::Hours),
    ("cpu_hours_difference", "Difference", Unit::Hours),
    ("gpu_hours", "GPU hours", Unit::Hours),
    ("sreport_gpu_hours", "by sreport", Unit::Hours),
    ("gpu_hours_difference", "Difference", Unit::Hours),
    ("explanation", "Why", Unit::Label),
];

/// What we have, cut to the period as sreport cuts it. A job whose end is not known counts until
/// it was last observed, which may be before the period's end.
fn our_sums(period: &Period) -> String {
    let end = period.end.as_microsecond();
    format!(
        "
        SELECT account,
               user,
               CAST(sum(exact(alloc_cpus * run_seconds)) AS DOUBLE) AS cpu_seconds,
               CAST(sum(exact(alloc_gpus * run_seconds)) AS DOUBLE) AS gpu_seconds,
               sum(CASE WHEN end_time IS NULL
                         AND to_time < arrow_cast({end}, 'Timestamp(Microsecond, Some(\"UTC\"))')
                        THEN 1
                        ELSE 0
                   END) AS unfinished
        FROM job_run
        GROUP BY account, user
        ORDER BY account, user
        "
    )
}

/// The whole hours that lie in a period and are over: sreport has no others.
fn whole_hours(period: &Period, now: Timestamp) -> Result<Period> {
    const HOUR: i64 = 3600;
    let start = (period.start.as_second() + HOUR - 1).div_euclid(HOUR) * HOUR;
    let end = period.end.min(now).as_second().div_euclid(HOUR) * HOUR;
    if start >= end {
        bail!(
            "sreport adds up whole hours that are over, and the period holds none; give a longer \
             one with --from and --to or --days"
        );
    }
    Ok(Period {
        start: Timestamp::from_second(start)?,
        end: Timestamp::from_second(end)?,
        zone: period.zone.clone(),
    })
}

/// An account and a user of it; who is not known has none.
type Who = (Option<String>, Option<String>);

#[derive(Clone, Debug, Default, PartialEq)]
struct Ours {
    cpu_seconds: Option<f64>,
    gpu_seconds: Option<f64>,
    /// Jobs that had not ended when they were last observed.
    unfinished: i64,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Theirs {
    cpu_seconds: Option<f64>,
    gpu_seconds: Option<f64>,
}

fn our_totals(table: &Table) -> Result<BTreeMap<Who, Ours>> {
    let text = |value: &Value| match value {
        Value::Text(text) => Some(text.clone()),
        _ => None,
    };
    let mut totals = BTreeMap::new();
    for row in &table.rows {
        let [account, user, cpu_seconds, gpu_seconds, unfinished] = &row[..] else {
            bail!("expected 5 columns, found {}", row.len());
        };
        let ours = Ours {
            cpu_seconds: cpu_seconds.number(),
            gpu_seconds: gpu_seconds.number(),
            unfinished: unfinished.number().unwrap_or(0.0) as i64,
        };
        totals.insert((text(account), text(user)), ours);
    }
    Ok(totals)
}

/// What sreport says of users. Its rows for whole accounts add up the same again.
fn their_totals(rows: &[Utilization]) -> BTreeMap<Who, Theirs> {
    let mut totals: BTreeMap<Who, Theirs> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.user.is_some()) {
        let theirs = totals.entry((Some(row.account.clone()), row.user.clone())).or_default();
        match row.resource.as_str() {
            "cpu" => theirs.cpu_seconds = Some(row.seconds as f64),
            "gres/gpu" => theirs.gpu_seconds = Some(row.seconds as f64),
            _ => {}
        }
    }
    totals
}

/// The days in UTC of a period that were not asked about after they, or their part of it, were
/// over.
fn days_lacking(tracker: &Tracker, period: &Period) -> Result<Vec<Date>> {
    let mut lacking = Vec::new();
    let mut day = period.start.to_zoned(TimeZone::UTC).start_of_day()?;
    while day.timestamp() < period.end {
        let next = day.checked_add(1.day())?;
        let over = next.timestamp().min(period.end);
        if tracker.days.get(&day.date()).is_none_or(|facts| facts.collected_time < over) {
            lacking.push(day.date());
        }
        day = next;
    }
    Ok(lacking)
}

/// Both sides of one cluster.
struct Comparison<'a> {
    ours: BTreeMap<Who, Ours>,
    theirs: BTreeMap<Who, Theirs>,
    period: &'a Period,
    lacking: &'a [Date],
    /// In percent.
    tolerance: f64,
}

impl Comparison<'_> {
    fn everyone(&self) -> Vec<&Who> {
        let mut everyone: Vec<&Who> = self.ours.keys().chain(self.theirs.keys()).collect();
        everyone.sort();
        everyone.dedup();
        everyone
    }

    fn agrees(&self) -> bool {
        self.everyone().into_iter().all(|who| self.explanation(who).is_none())
    }

    /// The largest difference first.
    fn rows(&self, cluster: &str) -> Vec<Vec<Value>> {
        let mut everyone = self.everyone();
        let size = |who: &Who| {
            let (ours, theirs) = self.both(who);
            difference(ours.cpu_seconds, theirs.cpu_seconds).unwrap_or(0.0).abs()
        };
        everyone.sort_by(|one, other| size(other).total_cmp(&size(one)));
        everyone
            .into_iter()
            .map(|who| {
                let (ours, theirs) = self.both(who);
                let hours = |seconds: Option<f64>| {
                    seconds.map_or(Value::Unknown, |seconds| Value::Number(seconds / 3600.0))
                };
                vec![
                    live::label(Some(cluster)),
                    live::label(who.0.as_deref()),
                    live::label(who.1.as_deref()),
                    hours(ours.cpu_seconds),
                    hours(theirs.cpu_seconds),
                    hours(difference(ours.cpu_seconds, theirs.cpu_seconds)),
                    hours(ours.gpu_seconds),
                    hours(theirs.gpu_seconds),
                    hours(difference(ours.gpu_seconds, theirs.gpu_seconds)),
                    live::label(self.explanation(who).as_deref()),
                ]
            })
            .collect()
    }

    /// What each side says of somebody; who has no job of ours used nothing that we know of.
    fn both(&self, who: &Who) -> (Ours, Theirs) {
        let ours = self.ours.get(who).cloned().unwrap_or(Ours {
            cpu_seconds: Some(0.0),
            gpu_seconds: Some(0.0),
            unfinished: 0,
        });
        (ours, self.theirs.get(who).cloned().unwrap_or_default())
    }

    /// Why the sides differ, as far as can be told; nothing if they agree.
    fn explanation(&self, who: &Who) -> Option<String> {
        let (ours, theirs) = self.both(who);
        if self.is_same(ours.cpu_seconds, theirs.cpu_seconds)
            && self.is_same(ours.gpu_seconds, theirs.gpu_seconds)
        {
            return None;
        }
        let mut reasons = Vec::new();
        if !self.theirs.contains_key(who) {
            // Nothing was used: sreport leaves such rows out.
            if ours.cpu_seconds.is_some_and(|seconds| seconds < NEGLIGIBLE_SECONDS) {
                return None;
            }
            reasons.push(
                "sreport lists no such user of the account: never associated, or deleted since"
                    .to_owned(),
            );
        } else if !self.ours.contains_key(who) {
            reasons.push("no job of theirs is in the lake".to_owned());
        }
        if ours.unfinished > 0 {
            reasons.push(format!(
                "{} jobs still ran when last observed: sreport counts them on",
                ours.unfinished
            ));
        }
        if !self.lacking.is_empty() {
            reasons.push(format!("{} days were not collected", self.lacking.len()));
        }
        if theirs.gpu_seconds.is_none() && ours.gpu_seconds.is_some_and(|seconds| seconds > 0.0) {
            reasons.push("sreport does not count GPUs".to_owned());
        }
        if reasons.is_empty() {
            let more = difference(ours.cpu_seconds, theirs.cpu_seconds).unwrap_or(0.0);
            reasons.push(
                if more > 0.0 {
                    "more than sreport: resized or requeued jobs, or hours not rolled up yet"
                } else {
                    "less than sreport: it charges the idle time of reservations to those who may \
                     use them; or jobs changed after they were collected"
                }
                .to_owned(),
            );
        }
        Some(reasons.join("; "))
    }

    /// Whether two sums are near enough; what one side does not count is no difference.
    fn is_same(&self, ours: Option<f64>, theirs: Option<f64>) -> bool {
        let Some(difference) = difference(ours, theirs) else {
            return ours.unwrap_or(0.0) < NEGLIGIBLE_SECONDS;
        };
        let larger = ours.unwrap_or(0.0).max(theirs.unwrap_or(0.0));
        difference.abs() <= NEGLIGIBLE_SECONDS.max(larger * self.tolerance / 100.0)
    }

    fn notes(&self, cluster: &str, theirs: &[Utilization]) -> Vec<String> {
        // The sum of nothing is a negative zero.
        let hours = |seconds: f64| format!("{:.1}", seconds / 3600.0 + 0.0);
        let ours: f64 = self.ours.values().filter_map(|ours| ours.cpu_seconds).sum();
        let of_users: f64 = self.theirs.values().filter_map(|theirs| theirs.cpu_seconds).sum();
        let mut notes = vec![format!(
            "{cluster} in all: {} CPU hours, {} by sreport.",
            hours(ours),
            hours(of_users)
        )];
        let root = theirs
            .iter()
            .find(|row| row.account == "root" && row.user.is_none() && row.resource == "cpu");
        if let Some(root) = root
            && root.seconds as f64 - of_users > NEGLIGIBLE_SECONDS
        {
            notes.push(format!(
                "{cluster}: {} CPU hours of sreport's are of users that it no longer lists.",
                hours(root.seconds as f64 - of_users)
            ));
        }
        if theirs.is_empty() {
            notes.push(format!(
                "{cluster}: sreport has nothing of this period. It adds up an hour once it is \
                 over; `sacctmgr rollup` does so by force."
            ));
        }
        if !self.lacking.is_empty() {
            let days: Vec<String> = runs(self.lacking);
            notes.push(format!(
                "{cluster}: not collected: {} (UTC); `plimsoll collect --days N` asks again, as \
                 long as SLURM has them.",
                days.join(", ")
            ));
        }
        let unfinished: i64 = self.ours.values().map(|ours| ours.unfinished).sum();
        if unfinished > 0 {
            notes.push(format!(
                "{cluster}: {unfinished} jobs had not ended when last observed, and count until \
                 then; sreport counts on, if need be until {}.",
                self.period.end.to_zoned(self.period.zone.clone()).strftime("%Y-%m-%d %H:%M %Z")
            ));
        }
        notes
    }
}

/// Of CPU or GPU time. Each job's part of each hour is cut to whole seconds.
const NEGLIGIBLE_SECONDS: f64 = 60.0;

fn difference(ours: Option<f64>, theirs: Option<f64>) -> Option<f64> {
    ours.zip(theirs).map(|(ours, theirs)| ours - theirs)
}

/// Days as people write them: those that follow one another together.
fn runs(days: &[Date]) -> Vec<String> {
    days.chunk_by(|one, other| one.tomorrow().is_ok_and(|next| next == *other))
        .map(|run| match run {
            [day] => day.to_string(),
            [first, .., last] => format!("{first} to {last}"),
            [] => String::new(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn period(start: &str, end: &str) -> Period {
        Period { start: start.parse().unwrap(), end: end.parse().unwrap(), zone: TimeZone::UTC }
    }

    #[test]
    fn a_period_is_cut_to_whole_hours_that_are_over() {
        let now = "2026-11-15T10:30:00Z".parse().unwrap();
        let whole = whole_hours(&period("2026-11-14T00:10:00Z", "2026-11-15T10:30:00Z"), now);
        let whole = whole.unwrap();
        assert_eq!(whole, period("2026-11-14T01:00:00Z", "2026-11-15T10:00:00Z"));
        assert!(whole_hours(&period("2026-11-15T10:00:00Z", "2026-11-15T12:00:00Z"), now).is_err());
    }

    fn who(account: &str, user: &str) -> Who {
        (Some(account.to_owned()), Some(user.to_owned()))
    }

    /// The explanation of a difference of one user: ours and theirs in CPU seconds.
    fn check(
        ours: Option<(f64, i64)>,
        theirs: Option<f64>,
        lacking: &[&str],
        expected: Option<&str>,
    ) {
        let lacking: Vec<Date> = lacking.iter().map(|day| day.parse().unwrap()).collect();
        let period = period("2026-11-14T00:00:00Z", "2026-11-15T00:00:00Z");
        let ann = who("ml", "ann");
        let comparison = Comparison {
            ours: ours
                .map(|(cpu, unfinished)| {
                    let ours = Ours { cpu_seconds: Some(cpu), gpu_seconds: Some(0.0), unfinished };
                    (ann.clone(), ours)
                })
                .into_iter()
                .collect(),
            theirs: theirs
                .map(|cpu| {
                    let theirs = Theirs { cpu_seconds: Some(cpu), gpu_seconds: Some(0.0) };
                    (ann.clone(), theirs)
                })
                .into_iter()
                .collect(),
            period: &period,
            lacking: &lacking,
            tolerance: 1.0,
        };
        let explanation = comparison.explanation(&ann);
        match expected {
            Some(words) => {
                assert!(
                    explanation.as_ref().is_some_and(|text| text.contains(words)),
                    "{explanation:?}"
                );
            }
            None => assert_eq!(explanation, None),
        }
    }

    #[test]
    fn a_difference_is_explained_as_far_as_can_be_told() {
        check(Some((100_000.0, 0)), Some(100_900.0), &[], None); // 0.9 %
        check(Some((0.0, 0)), Some(59.0), &[], None); // less than a minute
        check(Some((100_000.0, 0)), Some(103_000.0), &[], Some("less than sreport"));
        check(Some((103_000.0, 0)), Some(100_000.0), &[], Some("more than sreport"));
        check(Some((100_000.0, 2)), Some(140_000.0), &[], Some("2 jobs still ran"));
        check(Some((100_000.0, 0)), Some(140_000.0), &["2026-11-14"], Some("1 days were not"));
        check(Some((100_000.0, 0)), None, &[], Some("sreport lists no such user"));
        check(Some((50.0, 0)), None, &[], None);
        check(None, Some(100_000.0), &[], Some("no job of theirs is in the lake"));
    }

    #[test]
    fn rows_of_accounts_are_not_counted_again() {
        let row = |account: &str, user: Option<&str>, resource: &str, seconds| Utilization {
            cluster: "maple".to_owned(),
            account: account.to_owned(),
            user: user.map(str::to_owned),
            resource: resource.to_owned(),
            seconds,
        };
        let totals = their_totals(&[
            row("root", None, "cpu", 70),
            row("ml", None, "cpu", 70),
            row("ml", Some("ann"), "cpu", 70),
            row("ml", Some("ann"), "gres/gpu", 7),
        ]);
        let ann = Theirs { cpu_seconds: Some(70.0), gpu_seconds: Some(7.0) };
        assert_eq!(totals, [(who("ml", "ann"), ann)].into_iter().collect());
    }

    #[test]
    fn days_that_follow_one_another_are_named_together() {
        let days = ["2026-11-01", "2026-11-02", "2026-11-03", "2026-11-05"];
        let days: Vec<Date> = days.iter().map(|day| day.parse().unwrap()).collect();
        assert_eq!(runs(&days), ["2026-11-01 to 2026-11-03", "2026-11-05"]);
        assert_eq!(runs(&[]), Vec::<String>::new());
    }
}
