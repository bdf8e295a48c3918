//! A DataFusion session that sees the lake's tables, the terms and our functions.

use std::sync::{Arc, Mutex};

use anyhow::{Context, Result, anyhow, bail};
use datafusion::arrow::array::{ArrayRef, RecordBatch, StringViewArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::catalog::{MemorySchemaProvider, TableProvider};
use datafusion::common::ScalarValue;
use datafusion::datasource::MemTable;
use datafusion::error::DataFusionError;
use datafusion::execution::context::SQLOptions;
use datafusion::logical_expr::LogicalPlan;
use datafusion::prelude::{DataFrame, SessionConfig, SessionContext};
use futures::{StreamExt, stream};
use lake::{Lake, LakeFile, Trackers, is_same};
use object_store::{ObjectMeta, ObjectStoreExt};
use record::{GpuSpan, Job, JobDay, NodeDay, Record, TABLES};
use report::{Coverage, SkippedFile};

use crate::coverage::History;
use crate::engine::Engine;
use crate::function::Known;
use crate::gpu_history::GpuHistory;
use crate::gpu_span_table::GpuSpanTable;
use crate::held_files::HeldFiles;
use crate::lake_table::{Chosen, LakeTable, STORE_URL};
use crate::listing::Listing;
use crate::option::Asked;
use crate::pieces::Pieces;
use crate::policy::Policies;
use crate::shared_read::{self, Shared};
use crate::{
    Analysis, Question, Refused, TERMS, Term, allocation, backfill, coverage, function, memory,
    nearest, option, term,
};

/// One question's view of the lake.
pub struct Session {
    pub(crate) context: SessionContext,
    store: Arc<HeldFiles>,
    trackers: Arc<Trackers>,
    question: Question,
    policies: Arc<Policies>,
    seen: Arc<Mutex<Seen>>,
}

/// What a session's scans met.
#[derive(Default)]
pub(crate) struct Seen {
    /// How many files were opened.
    pub(crate) opened: usize,
    /// Those that were not read at once, or not by this process.
    pub(crate) in_parts: Vec<ObjectMeta>,
    /// Files that could not be read, by their names where the answer does without them.
    pub(crate) skipped: Vec<SkippedFile>,
    /// The same as they were listed, and those that the answer failed for.
    pub(crate) failed: Vec<ObjectMeta>,
}

impl Session {
    /// A session for statements that mention some of the terms: each costs time to define.
    pub async fn open(
        lake: &Lake,
        question: &Question,
        mentions: impl Fn(&Term) -> bool,
    ) -> Result<Session> {
        let trackers = Arc::new(lake.trackers().await?);
        Session::open_sharing(lake, question, &trackers, mentions, None, false).await
    }

    /// The same for statements that share what they read; one that is careful looks at every file
    /// before it is read.
    pub(crate) async fn open_sharing(
        lake: &Lake,
        question: &Question,
        trackers: &Arc<Trackers>,
        mentions: impl Fn(&Term) -> bool,
        shared: Option<&Shared>,
        is_careful: bool,
    ) -> Result<Session> {
        check_clusters(lake, trackers, question).map_err(Refused)?;
        // Our files have neither, and looking for them costs each file.
        let config = SessionConfig::new()
            .with_information_schema(true)
            .set_bool("datafusion.execution.parquet.enable_page_index", false)
            .set_bool("datafusion.execution.parquet.bloom_filter_on_read", false);
        let config = match &question.engine {
            Some(engine) => engine.settings(config),
            None => config,
        };
        let context = question.memory.context(config)?;
        let (policies, skipped) =
            Policies::read(lake, trackers, &question.clusters, &question.judgement).await?;
        let policies = Arc::new(policies);
        let seen = Arc::new(Mutex::new(Seen { skipped, ..Seen::default() }));
        let listing = Arc::new(Listing::new(lake, trackers, is_careful, question.engine.is_some()));
        context.register_object_store(&STORE_URL, listing.store.clone());
        let sight = &question.sight;
        let put = |name: &str, table: &record::Table, provider: Arc<dyn TableProvider>| {
            if let Some(seen) = sight.veil(&context, table.name, provider)? {
                context.register_table(name, seen)?;
            }
            anyhow::Ok(())
        };
        let files_of = |table: &'static record::Table, chosen: Chosen| {
            Arc::new(LakeTable::new(listing.clone(), table, chosen, seen.clone()))
        };
        let register = |name: &str, table: &'static record::Table, chosen: Chosen| {
            put(name, table, files_of(table, chosen))
        };
        let clusters = question.clusters.clone();
        let is_asked_about: Chosen =
            Arc::new(move |file| clusters.is_empty() || clusters.contains(&file.cluster));
        for table in TABLES.iter().filter(|table| table.name != GpuSpan::TABLE.name) {
            match shared.filter(|shared| table.name == Job::TABLE.name && shared.reads(table.name))
            {
                Some(shared) => {
                    let (asked, period) = (is_asked_about.clone(), question.period.clone());
                    let files = files_of(
                        table,
                        Arc::new(move |file| asked(file) && shared_read::touches(file, &period)),
                    );
                    put(table.name, table, shared.read(&context, files).await?)?;
                }
                None => register(table.name, table, is_asked_about.clone())?,
            }
        }
        let spans = GpuSpanTable::new(listing.clone(), question.clusters.clone(), seen.clone());
        put(GpuSpan::TABLE.name, &GpuSpan::TABLE, Arc::new(spans))?;
        for function in Known::of(question, &policies).functions() {
            context.register_udf(function);
        }
        for aggregate in function::aggregates() {
            context.register_udaf(aggregate);
        }
        let make = |name: &str, table: Arc<dyn TableProvider>| {
            if sight.sees_made(name) {
                context.register_table(name, table)?;
            }
            anyhow::Ok(())
        };
        make("day", Arc::new(coverage::day_table(trackers, question)?))?;
        make("asked", Arc::new(coverage::asked_table(trackers, question)?))?;
        make("user_group", Arc::new(user_group_table(question)?))?;
        for (name, table) in allocation::tables(trackers, question)? {
            make(name, Arc::new(table))?;
        }
        // What terms are made of and nobody asks for by name.
        let catalog = context.catalog("datafusion").context("a session has a catalog")?;
        catalog.register_schema("internal", Arc::new(MemorySchemaProvider::new()))?;
        let mut pieces = Pieces::default();
        let needed: Vec<_> = lake::SUMS
            .into_iter()
            .filter(|table| TERMS.iter().any(|term| mentions(term) && term::rests_on(term, table)))
            .collect();
        if !needed.is_empty() {
            pieces = Pieces::of(&listing, question, &needed).await?;
            let (summed, unsummed) = pieces.split(&is_asked_about);
            let days = match (shared, pieces.whole_days) {
                (Some(shared), Some(whole)) => {
                    let known = summed.clone();
                    let is_in =
                        move |file: &LakeFile| known(file) && shared_read::has_days_in(file, whole);
                    shared.read(&context, files_of(&JobDay::TABLE, Arc::new(is_in))).await?
                }
                _ => files_of(&JobDay::TABLE, summed.clone()),
            };
            put("internal.summed_job_day", &JobDay::TABLE, days)?;
            register("internal.summed_node_day", &NodeDay::TABLE, summed.clone())?;
            register("internal.summed_job", &Job::TABLE, summed)?;
            register("internal.unsummed_job", &Job::TABLE, unsummed)?;
            if !pieces.rest.is_empty() {
                context.sql(&term::create_job_piece(&pieces)).await?;
            }
        }
        let hidden = sight.hidden();
        let is_seen = |term: &&Term| mentions(term) && !hidden.contains(&term.name);
        for term in TERMS.into_iter().filter(is_seen) {
            let view = term::create_view(term, question, &policies, &pieces);
            context
                .sql(&view)
                .await
                .with_context(|| format!("cannot define the term {}", term.name))?;
        }
        let holds = trackers
            .iter()
            .map(|(cluster, tracker)| (cluster.clone(), tracker.hold().as_micros() as i64));
        let asked = backfill::Asked::new(question, &policies, holds.collect());
        for (name, table) in backfill::tables(&asked) {
            make(name, Arc::new(table))?;
        }
        let (question, store) = (question.clone(), listing.store.clone());
        Ok(Session { context, store, trackers: trackers.clone(), question, policies, seen })
    }

    /// What one of our own statements gives.
    pub async fn collect(&self, sql: &str) -> Result<Vec<RecordBatch>> {
        self.rows(self.context.sql(sql).await?).await
    }

    /// The rows of a statement, worked out by who is asked to. What others cannot do is done here, and
    /// said.
    async fn rows(&self, frame: DataFrame) -> Result<Vec<RecordBatch>> {
        if let Some(engine) = &self.question.engine {
            match self.rows_from(engine.as_ref(), frame.clone()).await {
                Ok(rows) => return Ok(rows),
                Err(error) => tracing::warn!("answered by this process alone: {error:#}"),
            }
        }
        Ok(frame.collect().await?)
    }

    async fn rows_from(&self, engine: &dyn Engine, frame: DataFrame) -> Result<Vec<RecordBatch>> {
        let known = Known::of(&self.question, &self.policies).written()?;
        let settings = frame.task_ctx().session_config().clone();
        let plan = frame.create_physical_plan().await?;
        let rows = engine.run(plan, &settings, known).await;
        // Of what happened elsewhere one line is enough here.
        rows.map_err(|error| anyhow!("{}", first_line(&error.strip_backtrace())))
    }

    /// What every GPU did in the period.
    pub(crate) async fn gpu_history(&self) -> Result<GpuHistory> {
        let spans = term::gpu_spans(&self.question, &self.policies);
        GpuHistory::read(&self.context, &spans).await
    }

    /// What an analysis gives, told what the question says.
    pub async fn ask(&self, analysis: &Analysis) -> Result<Vec<RecordBatch>> {
        let asked = option::asked(analysis, &self.question.options, &self.question)?;
        self.collect_asked(&asked).await
    }

    /// What an analysis that is asked with some options gives.
    pub(crate) async fn collect_asked(&self, asked: &Asked<'_>) -> Result<Vec<RecordBatch>> {
        match asked.seeks_few() {
            true => self.bound(&seeking_few(&self.context), &asked.sql, &asked.parameters).await,
            false => self.collect_with(&asked.sql, &asked.parameters).await,
        }
    }

    /// What one of our own statements gives, with what users said in their own words: its
    /// parameters, by name.
    pub async fn collect_with(
        &self,
        sql: &str,
        parameters: &[(&'static str, Option<String>)],
    ) -> Result<Vec<RecordBatch>> {
        self.bound(&self.context, sql, parameters).await
    }

    async fn bound(
        &self,
        context: &SessionContext,
        sql: &str,
        parameters: &[(&'static str, Option<String>)],
    ) -> Result<Vec<RecordBatch>> {
        let values: Vec<(String, ScalarValue)> = parameters
            .iter()
            .map(|(name, text)| (name.replace('-', "_"), ScalarValue::Utf8View(text.clone())))
            .collect();
        self.rows(context.sql(sql).await?.with_param_values(values)?).await
    }

    /// What a user's statement gives, its first `limit` rows, and whether there are more.
    pub(crate) async fn collect_read_only(
        &self,
        sql: &str,
        limit: usize,
    ) -> Result<(SchemaRef, Vec<RecordBatch>, bool)> {
        let read_only = SQLOptions::new()
            .with_allow_ddl(false)
            .with_allow_dml(false)
            .with_allow_statements(false);
        let frame = self
            .context
            .sql_with_options(sql, read_only)
            .await
            .map_err(|error| anyhow!("{}", explain(&error.strip_backtrace())))?;
        let schema = Arc::new(frame.schema().as_arrow().clone());
        // How a statement is planned is asked of who plans it.
        let is_about_plan =
            matches!(frame.logical_plan(), LogicalPlan::Explain(_) | LogicalPlan::Analyze(_));
        let mut stream = if self.question.engine.is_some() && !is_about_plan {
            let rows = self.rows(frame.limit(0, Some(limit.saturating_add(1)))?).await?;
            stream::iter(rows).map(Ok).boxed()
        } else {
            frame.execute_stream().await.map_err(in_words)?.boxed()
        };
        let (mut batches, mut rows) = (Vec::new(), 0);
        while let Some(batch) = stream.next().await {
            let batch = batch.map_err(in_words)?;
            rows += batch.num_rows();
            if rows > limit {
                batches.push(batch.slice(0, batch.num_rows() - (rows - limit)));
                return Ok((schema, batches, true));
            }
            batches.push(batch);
        }
        Ok((schema, batches, false))
    }

    pub(crate) fn policies(&self) -> &Policies {
        &self.policies
    }

    /// How many files were opened to answer.
    pub fn files_opened(&self) -> usize {
        self.seen.lock().expect("no holder of this lock panics").opened
    }

    /// Whether there were files that could not be read.
    pub(crate) fn files_failed(&self) -> bool {
        !self.seen.lock().expect("no holder of this lock panics").failed.is_empty()
    }

    /// Whether a file that was read in parts, and not held, is no longer the one that was listed.
    pub(crate) async fn files_changed(&self) -> bool {
        let files = {
            let seen = self.seen.lock().expect("no holder of this lock panics");
            let in_parts = seen.in_parts.iter().filter(|file| !self.store.holds(&file.location));
            in_parts.chain(&seen.failed).cloned().collect::<Vec<_>>()
        };
        for file in files {
            match self.store.head(&file.location).await {
                Ok(now) if is_same(&now, &file) => {}
                _ => return true,
            }
        }
        false
    }

    /// How much of the question's time was observed, and what could not be read of it.
    pub(crate) fn coverage(&self, history: History) -> Result<Coverage> {
        let mut coverage = Coverage {
            clusters: coverage::clusters(&self.trackers, &self.question, history)?,
            skipped: self.seen.lock().expect("no holder of this lock panics").skipped.clone(),
            ends_at_newest: self.question.period_end.as_ref().and_then(|end| end.newest),
        };
        coverage.skipped.sort_by(|one, other| one.path.cmp(&other.path));
        coverage.skipped.dedup();
        self.question.sight.cut_coverage(&mut coverage);
        Ok(coverage)
    }
}

/// Why a user's statement failed, in words; that there was not enough memory is told later.
fn in_words(error: DataFusionError) -> anyhow::Error {
    let words = error.strip_backtrace();
    let error = anyhow::Error::from(error);
    if memory::is_exhausted(&error) { error } else { anyhow!("{words}") }
}

/// The same session, which looks at the columns that decide before it reads the others: it pays where
/// few of many rows are wanted, and costs where many are.
pub(crate) fn seeking_few(context: &SessionContext) -> SessionContext {
    let mut state = context.state();
    state.config_mut().options_mut().execution.parquet.pushdown_filters = true;
    SessionContext::new_with_state(state)
}

/// Refuses a cluster that the lake has nothing of.
fn check_clusters(lake: &Lake, trackers: &Trackers, question: &Question) -> Result<()> {
    let known: Vec<&str> = trackers.keys().map(String::as_str).collect();
    for name in &question.clusters {
        if known.contains(&name.as_str()) {
            continue;
        }
        if known.is_empty() {
            bail!("there is no cluster {name:?} in {}: nothing was collected yet", lake.place());
        }
        return Err(no_such_cluster(name, &known));
    }
    Ok(())
}

/// That a cluster is none of those that are known.
pub fn no_such_cluster(name: &str, known: &[&str]) -> anyhow::Error {
    match nearest(name, known.iter().copied()) {
        Some(near) => anyhow!("there is no cluster {name:?}; did you mean {near:?}?"),
        None => anyhow!("there is no cluster {name:?}; there are {}", known.join(", ")),
    }
}

/// The table `user_group`: which user is in which group, by configuration.
fn user_group_table(question: &Question) -> Result<MemTable> {
    let schema = Arc::new(Schema::new(vec![
        Field::new("user", DataType::Utf8View, false),
        Field::new("group", DataType::Utf8View, false),
    ]));
    let members = question
        .groups
        .iter()
        .flat_map(|(group, users)| users.iter().map(move |user| (user.as_str(), group.as_str())));
    let members = question.sight.members(members);
    let columns: Vec<ArrayRef> = vec![
        Arc::new(StringViewArray::from_iter_values(members.iter().map(|(user, _)| user))),
        Arc::new(StringViewArray::from_iter_values(members.iter().map(|(_, group)| group))),
    ];
    let batch = RecordBatch::try_new(schema.clone(), columns)?;
    Ok(MemTable::try_new(schema, vec![vec![batch]])?)
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// Says in our words why a statement is refused.
fn explain(error: &str) -> String {
    let refused = ["DDL not supported", "DML not supported", "Statement not supported"];
    if refused.iter().any(|refusal| error.contains(refusal)) {
        "plimsoll sql only reads: a statement that writes, creates or sets something is refused"
            .to_owned()
    } else {
        error.to_owned()
    }
}
