//! A lake for one test, filled and asked in statements.
//!
//! Beside SQL a test may say:
//! - `INSERT INTO job (columns) VALUES …`: rows of a table (also `gpu_sample`, `gpu_span` and
//!   `queue_span`); what a row must have and the test does not care about is filled in;
//! - `COLLECTED 'cluster' 'from' 'to'`: its scheduler was asked about that time, at its end;
//! - `FAILED 'cluster' 'time' 'error'`: it did not answer;
//! - `REJECTED 'cluster' 'time' 'reason'`: a piece of what it printed could not be read;
//! - `NODE 'cluster' 'name' cpus gpus 'from' 'to'`: a node was seen, with so many CPUs and GPUs;
//! - `NODE 'cluster' 'name' cpus gpus/held 'from' 'to' 'state' ['reason']`: the same in a state;
//! - `QUEUED 'cluster' 'job' 'reason' tasks gpus 'from' 'to'`: a job was seen to wait;
//! - `GROUP 'name' 'user' …`: these users are in a group;
//! - `ALLOCATION 'name' amount unit 'from' 'to' account=lab …`: so much was granted to any of those
//!   that follow, each a `user`, a `group` or an `account`, in each `cluster` that does;
//! - `INSTITUTION 'machine'`, `RESEARCHER 'machine'`, `MASK 'machine' 'reason'`, `HIDE 'family'`,
//!   `CALL 'class' 'name'`: what the site says of its GPUs;
//! - `SIGHT 'staff'`, `SIGHT 'public'`, `SIGHT 'own' 'user' 'account' …`: who asks from now on;
//! - `NOW 'time'`: when the questions that follow are asked;
//! - `ZONE 'zone'`: days are added up by this calendar from now on;
//! - `PERIOD 'from' 'to' ['zone']`: the time that what follows is about;
//! - `REPORT name [option=value …]`: the answer of an analysis.
//!
//! A report is asked again of a copy that `plimsoll compact` has put in order, within a limit of memory,
//! and one that rests on sums of days without them; all must say the same.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use datafusion::prelude::SessionContext;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use lake::Lake;
use query::{
    Allocation, AllocationUnit, Holders, Judgement, Memory, Pattern, Preemptible, Question, Secret,
    Sight,
};
use record::{Collection, GpuSample, GpuSpan, Job, NodeSpan, QueueSpan, Record, Reject};
use report::{Period, Report, Value};
use sqllogictest::{AsyncDB, DBOutput, DefaultColumnType};
use tempfile::TempDir;

pub(crate) struct Site {
    pub(crate) lake: Lake,
    pub(crate) question: Question,
    _folder: TempDir,
}

#[derive(Debug, thiserror::Error)]
#[error("{0:#}")]
pub(crate) struct SiteError(anyhow::Error);

impl Site {
    pub(crate) fn new() -> Site {
        let folder = tempfile::tempdir().unwrap();
        Site {
            lake: Lake::create(&folder.path().join("data")).unwrap(),
            question: Question::about(
                period("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", "UTC").unwrap(),
            ),
            _folder: folder,
        }
    }

    async fn answer(&mut self, statement: &str) -> Result<DBOutput<DefaultColumnType>> {
        let words: Vec<&str> = statement.split_whitespace().collect();
        match words[..] {
            ["INSERT", "INTO", table, ..] => match table {
                "job" => self.insert::<Job>(statement).await?,
                "gpu_sample" => self.insert::<GpuSample>(statement).await?,
                "gpu_span" => self.insert::<GpuSpan>(statement).await?,
                "queue_span" => self.insert::<QueueSpan>(statement).await?,
                _ => bail!("no test writes to {table}"),
            },
            ["INSTITUTION", machine] => {
                let machine = pattern(machine)?;
                self.judge(|judgement| judgement.institution_owned.push(machine));
            }
            ["RESEARCHER", machine] => {
                let machine = pattern(machine)?;
                self.judge(|judgement| judgement.researcher_owned.push(machine));
            }
            ["MASK", machine, reason] => {
                let mask = (pattern(machine)?, unquoted(reason)?.to_owned());
                self.judge(|judgement| judgement.masks.push(mask));
            }
            ["HIDE", family] => {
                let family = unquoted(family)?.to_owned();
                self.judge(|judgement| judgement.hidden_families.push(family));
            }
            ["CALL", class, name] => {
                let named = (unquoted(class)?.to_owned(), unquoted(name)?.to_owned());
                self.judge(|judgement| judgement.class_names.push(named));
            }
            ["BACKFILL", cluster, partition] => {
                let place = Preemptible {
                    cluster: unquoted(cluster)?.to_owned(),
                    partitions: vec![unquoted(partition)?.to_owned()],
                    qos: Vec::new(),
                };
                self.judge(|judgement| judgement.preemptible.push(place));
            }
            // Stores what the reader has said so far, who then says nothing any more.
            ["POLICY", cluster, from] => {
                let (cluster, from) = (unquoted(cluster)?, time(from)?);
                let policy = std::mem::take(&mut self.question.judgement);
                let rows = query::policy_rows(&policy, cluster, "configuration", from, from);
                let mut writer = self.lake.writer(cluster).await?;
                writer.put_policy(&rows).await?;
                writer.finish().await?;
            }
            ["SIGHT", who, ref names @ ..] => {
                let names: Result<Vec<&str>> = names.iter().map(|name| unquoted(name)).collect();
                self.question.sight = sight(unquoted(who)?, &names?)?;
            }
            ["NOW", now] => self.question.now = time(now)?,
            ["COLLECTED", cluster, from, to] => {
                let (from, to) = (time(from)?, time(to)?);
                self.collection(unquoted(cluster)?, to, Some((from, to)), None).await?;
            }
            ["FAILED", cluster, at, error] => {
                let error = Some(unquoted(error)?.to_owned());
                self.collection(unquoted(cluster)?, time(at)?, None, error).await?;
            }
            ["REJECTED", cluster, at, reason] => {
                let mut writer = self.lake.writer(unquoted(cluster)?).await?;
                writer
                    .upsert(&[Reject {
                        cluster: unquoted(cluster)?.into(),
                        source: "sacct".into(),
                        time: time(at)?,
                        position: 1,
                        reason: unquoted(reason)?.into(),
                        text: "the|text".into(),
                    }])
                    .await?;
                writer.finish().await?;
            }
            ["NODE", cluster, node, cpus, gpus, from, to, ref said @ ..] => {
                let (gpus, held) = gpus.split_once('/').unwrap_or((gpus, ""));
                let said: Result<Vec<&str>> = said.iter().map(|word| unquoted(word)).collect();
                let said = said?;
                let mut writer = self.lake.writer(unquoted(cluster)?).await?;
                writer
                    .upsert(&[NodeSpan {
                        cluster: unquoted(cluster)?.into(),
                        node: unquoted(node)?.into(),
                        start_time: time(from)?,
                        end_time: time(to)?,
                        last_seen_time: time(from)?,
                        samples: 1,
                        state: (*said.first().unwrap_or(&"IDLE")).into(),
                        reason: said.get(1).map(|reason| (*reason).into()),
                        reason_user: None,
                        reason_time: None,
                        partitions: None,
                        reservation: None,
                        cpus: cpus.parse().ok(),
                        effective_cpus: None,
                        alloc_cpus: None,
                        memory_mb: None,
                        alloc_memory_mb: None,
                        gpus: gpus.parse().ok(),
                        alloc_gpus: held.parse().ok(),
                        gpu_types: None,
                        alloc_gpu_types: None,
                    }])
                    .await?;
                writer.finish().await?;
            }
            ["QUEUED", cluster, job_id, reason, tasks, gpus, from, to] => {
                let mut writer = self.lake.writer(unquoted(cluster)?).await?;
                writer
                    .upsert(&[QueueSpan {
                        cluster: unquoted(cluster)?.into(),
                        job_id: unquoted(job_id)?.into(),
                        start_time: time(from)?,
                        end_time: time(to)?,
                        last_seen_time: time(from)?,
                        samples: 1,
                        user: Some("ann".into()),
                        account: None,
                        partition: None,
                        qos: None,
                        state: "PENDING".into(),
                        reason: Some(unquoted(reason)?.into()),
                        submit_time: None,
                        eligible_time: None,
                        tasks: tasks.parse().ok(),
                        req_nodes: None,
                        req_cpus: Some(2),
                        req_mem_mb: None,
                        req_gpus: gpus.parse().ok(),
                        gpu_types: None,
                        time_limit_seconds: None,
                    }])
                    .await?;
                writer.finish().await?;
            }
            ["GROUP", name, ref users @ ..] => {
                let users: Result<Vec<String>> =
                    users.iter().map(|user| Ok(unquoted(user)?.to_owned())).collect();
                self.question.groups.insert(unquoted(name)?.to_owned(), users?);
            }
            ["ALLOCATION", name, amount, unit, from, to, ref scope @ ..] => {
                let named = |key: &str| {
                    let pairs = scope.iter().filter_map(|word| word.split_once('='));
                    let names = pairs.filter(|(known, _)| *known == key);
                    names.map(|(_, name)| name.to_owned()).collect()
                };
                self.question.allocations.push(Allocation {
                    name: unquoted(name)?.to_owned(),
                    holders: Holders {
                        groups: named("group"),
                        accounts: named("account"),
                        users: named("user"),
                    },
                    clusters: named("cluster"),
                    unit: AllocationUnit::by_name(unit).context("there is no such unit")?,
                    amount: amount.parse()?,
                    from: unquoted(from)?.parse()?,
                    to: unquoted(to)?.parse()?,
                });
            }
            ["ZONE", zone] => {
                self.lake = self.lake.clone().with_zone(&TimeZone::get(unquoted(zone)?)?);
            }
            ["PERIOD", from, to] => {
                self.set_period(period(unquoted(from)?, unquoted(to)?, "UTC")?);
            }
            ["PERIOD", from, to, zone] => {
                self.set_period(period(unquoted(from)?, unquoted(to)?, unquoted(zone)?)?);
            }
            ["REPORT", name, ref options @ ..] => {
                let pairs = options.iter().map(|option| option.split_once('='));
                let pairs = pairs.map(|pair| pair.map(|(name, value)| (name.into(), value.into())));
                self.question.options =
                    pairs.collect::<Option<_>>().context("an option is name=value")?;
                let report = query::run(&self.lake, query::analysis(name)?, &self.question).await?;
                self.check_without_sums(name, &report).await?;
                self.check_compacted(name, &report).await?;
                return Ok(output(&report));
            }
            _ => {
                let report = query::sql(&self.lake, statement, 1000, &self.question).await?;
                return Ok(output(&report));
            }
        }
        Ok(DBOutput::StatementComplete(0))
    }

    /// Asked when the period is over.
    fn set_period(&mut self, period: Period) {
        self.question.now = period.end;
        self.question.period = period;
    }

    fn judge(&mut self, change: impl FnOnce(&mut Judgement)) {
        change(std::sync::Arc::make_mut(&mut self.question.judgement));
    }

    /// A report says the same once `plimsoll compact` has made spans of samples and added up jobs.
    async fn check_compacted(&self, name: &str, report: &Report) -> Result<()> {
        let root = self.lake.folder().unwrap();
        if !root.join("processed").exists() {
            return Ok(());
        }
        let folder = tempfile::tempdir()?;
        copy(root, folder.path())?;
        for table in lake::SUMS {
            let sums = folder.path().join("processed").join(table.name);
            if sums.exists() {
                std::fs::remove_dir_all(sums)?;
            }
        }
        let lake = Lake::open(folder.path())?.with_zone(&self.question.period.zone);
        let later = "2100-01-01T00:00:00Z".parse()?;
        for cluster in lake.clusters().await? {
            let done = lake.catch_up(&cluster, later, None, &mut || ()).await?;
            anyhow::ensure!(done.failures.is_empty(), "{:?}", done.failures);
            anyhow::ensure!(lake.backlog(&cluster, later).await?.is_empty());
        }
        anyhow::ensure!(lake.files(&GpuSample::TABLE, &lake::Trackers::new()).await?.is_empty());
        // So it is within a limit, while we are at it.
        let memory = Memory::limited(64 * 1024 * 1024)?;
        let question = Question { memory, ..self.question.clone() };
        let compacted = query::run(&lake, query::analysis(name)?, &question).await?;
        anyhow::ensure!(
            compacted.table == report.table,
            "compacted: {:?}\nas it was: {:?}",
            compacted.table.rows,
            report.table.rows
        );
        Ok(())
    }

    /// A report says the same whether it rests on the sums of days or on each attempt.
    async fn check_without_sums(&self, name: &str, report: &Report) -> Result<()> {
        let root = self.lake.folder().unwrap();
        let sums: Vec<_> = lake::SUMS
            .iter()
            .map(|table| (root.join("processed").join(table.name), root.join(table.name)))
            .filter(|(sums, _)| sums.exists())
            .collect();
        for (sums, aside) in &sums {
            std::fs::rename(sums, aside)?;
        }
        let without = query::run(&self.lake, query::analysis(name)?, &self.question).await?;
        for (sums, aside) in &sums {
            std::fs::rename(aside, sums)?;
        }
        anyhow::ensure!(
            without.table == report.table,
            "without sums of days: {:?}\nwith: {:?}",
            without.table.rows,
            report.table.rows
        );
        Ok(())
    }

    async fn insert<R: Record>(&self, statement: &str) -> Result<()> {
        let (head, values) = statement.split_once("VALUES").context("VALUES is missing")?;
        let columns = head
            .split_once('(')
            .and_then(|(_, rest)| rest.split_once(')'))
            .context("the columns are missing")?
            .0;
        let named: Vec<&str> = columns.split(',').map(str::trim).collect();
        let mut select = vec!["*".to_owned()];
        let of_jobs = [
            ("attempt", "0"),
            ("source", "'sacct'"),
            ("state", "'COMPLETED'"),
            (
                "is_complete",
                if named.contains(&"state") {
                    "state NOT IN ('PENDING', 'RUNNING')"
                } else {
                    "true"
                },
            ),
            ("observed_time", "'2026-02-01T00:00:00Z'"),
            ("submit_time", "start_time"),
        ];
        let of_spans = [("samples", "1"), ("state", "'PENDING'"), ("last_seen_time", "start_time")];
        let of_table = match R::TABLE.name {
            "job" => &of_jobs[..],
            "gpu_sample" => &[],
            _ => &of_spans[..],
        };
        for (column, filler) in [("cluster", "'maple'")].iter().chain(of_table) {
            if !named.contains(column) {
                select.push(format!("{filler} AS {column}"));
            }
        }
        let context = SessionContext::new();
        let rows = format!(
            "CREATE VIEW came AS SELECT {} FROM (VALUES {values}) AS came ({columns})",
            select.join(", ")
        );
        context.sql(&rows).await?;
        let mut by_cluster: BTreeMap<String, Vec<R>> = BTreeMap::new();
        for cluster in ["maple", "birch"] {
            let sql = format!("SELECT * FROM came WHERE cluster = '{cluster}'");
            for batch in context.sql(&sql).await?.collect().await? {
                let rows = R::from_batch(cluster, &batch).map_err(anyhow::Error::msg)?;
                by_cluster.entry(cluster.to_owned()).or_default().extend(rows);
            }
        }
        for (cluster, rows) in by_cluster {
            let mut writer = self.lake.writer(&cluster).await?;
            writer.upsert(&rows).await?;
            writer.finish().await?;
        }
        Ok(())
    }

    async fn collection(
        &self,
        cluster: &str,
        start_time: Timestamp,
        window: Option<(Timestamp, Timestamp)>,
        error: Option<String>,
    ) -> Result<()> {
        let mut writer = self.lake.writer(cluster).await?;
        writer
            .collected(&[Collection {
                cluster: cluster.into(),
                source: "sacct".into(),
                start_time,
                window_start: window.map(|(start, _)| start),
                window_end: window.map(|(_, end)| end),
                duration_seconds: 1.0,
                bytes: 0,
                records: 0,
                rejects: 0,
                changed: 0,
                error: error.map(Into::into),
            }])
            .await?;
        writer.finish().await
    }
}

#[async_trait::async_trait]
impl AsyncDB for Site {
    type Error = SiteError;
    type ColumnType = DefaultColumnType;

    async fn run(&mut self, sql: &str) -> Result<DBOutput<DefaultColumnType>, SiteError> {
        self.answer(sql).await.map_err(SiteError)
    }

    async fn shutdown(&mut self) {}
}

pub(crate) fn period(start: &str, end: &str, zone: &str) -> Result<Period> {
    Ok(Period { start: start.parse()?, end: end.parse()?, zone: TimeZone::get(zone)? })
}

/// Copies a folder with all that is in it.
fn copy(from: &std::path::Path, to: &std::path::Path) -> Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &to)?;
        } else {
            std::fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}

pub(crate) fn sight(who: &str, names: &[&str]) -> Result<Sight> {
    let secret = Secret::new(b"salt");
    match (who, names) {
        ("staff", []) => Ok(Sight::Staff),
        ("public", []) => Ok(Sight::Public { secret }),
        ("own", [user, accounts @ ..]) => {
            let accounts = accounts.iter().map(|account| (*account).to_owned()).collect();
            Ok(Sight::Own { user: (*user).to_owned(), accounts, secret })
        }
        _ => bail!("nobody sees like {who} {names:?}"),
    }
}

fn pattern(quoted: &str) -> Result<Pattern> {
    Pattern::new(unquoted(quoted)?).map_err(anyhow::Error::msg)
}

fn time(quoted: &str) -> Result<Timestamp> {
    Ok(unquoted(quoted)?.parse()?)
}

fn unquoted(word: &str) -> Result<&str> {
    match word.strip_prefix('\'').and_then(|word| word.strip_suffix('\'')) {
        Some(word) => Ok(word),
        None => bail!("{word} is not in quotes"),
    }
}

/// A report's rows as text, numbers to three decimals.
fn output(report: &Report) -> DBOutput<DefaultColumnType> {
    let text = |value: &Value| match value {
        Value::Unknown => "NULL".to_owned(),
        Value::Text(text) => text.clone(),
        Value::Integer(number) => number.to_string(),
        Value::Number(number) => format!("{number:.3}"),
        Value::Boolean(yes) => yes.to_string(),
        Value::Time(time) => time.to_string(),
        Value::Date(date) => date.to_string(),
    };
    DBOutput::Rows {
        types: vec![DefaultColumnType::Any; report.table.columns.len()],
        rows: report.table.rows.iter().map(|row| row.iter().map(text).collect()).collect(),
    }
}
