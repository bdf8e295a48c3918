//! The words that reports use, each defined once, as a view.

/// GPU spans cut to the period, and to what is known of it: nothing is later than now.
macro_rules! gpu_cut {
    () => {
        "(
            SELECT *,
                   greatest(start_time, $start) AS from_time,
                   least(end_time, $known_end) AS to_time,
                   trim(prioritized_projects) <> '' AS projects_said,
                   coalesce(trim(prevent_reason) <> '', false) AS is_prevented,
                   $policy AS policy,
                   backfill_slot IS NOT NULL OR backfill_state IS NOT NULL AS has_backfill
            FROM gpu_span
            WHERE start_time < $known_end AND end_time > $start AND $start < $known_end
        )"
    };
}

/// What of a cut span decides how it is judged, but for the machine that it is of.
macro_rules! gpu_state_columns {
    () => {
        "device_name, device_memory_mb, primary_state, is_prevented, availability, projects_said,
         interactive, backfill_state, has_backfill, policy"
    };
}

/// The one place that judges GPUs: rows with the columns above, `cluster`, `machine`, and with
/// `machine_projects`, what was said of the machine at any time of the period.
///
/// - Who comes first on a machine (PrioritizedProjects) may be unknown for a while, such as while
///   no primary slot is seen. Then it is what the machine says elsewhere in the period; one that
///   never says is open capacity.
/// - A machine on the institution's list belongs to the institution, whoever comes first on it.
/// - A side is claimed also while its job is made to leave (Preempting).
/// - A free GPU of a machine that takes no jobs has the state of the machine: draining, drained, down, in
///   maintenance, rebooting or prevented. This also holds for a GPU without a primary slot, which is in
///   backfill partitions alone. Rows of older versions lack these states: a `Drained` slot is drained.
/// - Owner and any other state is `other`: the GPU is there, and neither used nor usable.
/// - An interactive slot on which nobody comes first is in a class of its own.
/// - Where both sides are claimed, the primary side has the GPU, and the other is in conflict.
macro_rules! gpu_judged {
    ($rows:expr) => {
        concat!(
            "(
                SELECT * EXCEPT (listed, out_of_service),
                       CASE WHEN primary_use <> 'claimed' AND is_backfill_claimed THEN 'backfill'
                            ELSE primary_use
                       END AS state,
                       CASE WHEN NOT has_backfill THEN NULL
                            WHEN is_backfill_claimed AND primary_use = 'claimed' THEN 'conflict'
                            WHEN is_backfill_claimed THEN 'claimed'
                            WHEN backfill_state IS NULL THEN 'unknown'
                            WHEN primary_use = 'claimed' THEN 'taken'
                            WHEN out_of_service IS NOT NULL THEN out_of_service
                            WHEN backfill_state = 'Drained' THEN 'drained'
                            WHEN is_prevented THEN 'prevented'
                            WHEN backfill_state = 'Unclaimed' THEN 'available'
                            ELSE 'other'
                       END AS backfill_use,
                       CASE WHEN is_institution THEN 'institution-owned'
                            WHEN is_prioritized_machine THEN 'prioritized'
                            ELSE 'open capacity'
                       END AS owner_class,
                       slot_class(
                           CASE WHEN is_prioritized AND is_institution THEN 'Priority-CHTCOwned'
                                WHEN is_prioritized THEN 'Priority-ResearcherOwned'
                                WHEN interactive THEN 'Interactive'
                                ELSE 'Shared'
                           END
                       ) AS primary_class,
                       slot_class(
                           CASE WHEN NOT has_backfill THEN NULL
                                WHEN is_institution THEN 'Backfill-CHTCOwned'
                                WHEN is_prioritized_machine THEN 'Backfill-ResearcherOwned'
                                ELSE 'Backfill-OpenCapacity'
                           END
                       ) AS backfill_class,
                       listed['name'] AS device,
                       listed['family'] AS family,
                       listed['tier'] AS tier,
                       listed['weight'] AS weight,
                       listed['hidden'] AS hidden,
                       memory_class(device_name, device_memory_mb) AS memory_class
                FROM (
                    SELECT *,
                           CASE WHEN primary_state IN ('Claimed', 'Preempting') THEN 'claimed'
                                WHEN out_of_service IS NOT NULL THEN out_of_service
                                WHEN primary_state IS NULL THEN 'unknown'
                                WHEN primary_state = 'Drained' THEN 'drained'
                                WHEN is_prevented THEN 'prevented'
                                WHEN primary_state = 'Unclaimed' THEN 'idle'
                                ELSE 'other'
                           END AS primary_use,
                           coalesce(backfill_state IN ('Claimed', 'Preempting'), false)
                               AS is_backfill_claimed,
                           mask_reason(policy, machine) AS masked,
                           is_institution_owned(policy, machine) AS is_institution,
                           coalesce(projects_said, machine_projects, false)
                               OR is_researcher_owned(policy, machine) AS is_prioritized,
                           coalesce(machine_projects, false)
                               OR is_researcher_owned(policy, machine) AS is_prioritized_machine,
                           device_of(device_name) AS listed
                    FROM (
                        SELECT *,
                               CASE WHEN availability NOT IN ('up', 'unknown') THEN availability
                               END AS out_of_service
                        FROM ",
            $rows,
            "
                    )
                )
            )"
        )
    };
}

/// Judged rows without what the site wants left out; `gpu_left_out` says what that is.
macro_rules! gpu_shown {
    ($rows:expr) => {
        concat!("(SELECT * FROM ", gpu_judged!($rows), " WHERE masked IS NULL AND NOT hidden)")
    };
}

/// Seconds of GPUs by the parts of the calendar that a function gives.
macro_rules! gpu_use_by {
    ($pieces:literal) => {
        concat!(
            "
            SELECT * EXCEPT (is_institution, is_prioritized, is_prioritized_machine,
                             is_backfill_claimed, projects_said, has_backfill, masked, hidden,
                             policy, microseconds),
                   microseconds / 1e6 AS seconds
            FROM ",
            gpu_shown!(concat!(
                "(
                    SELECT *,
                           bool_or(projects_said) OVER (PARTITION BY cluster, machine)
                               AS machine_projects
                    FROM (
                        SELECT cluster, machine,
                               piece['start_time'] AS start_time,
                               piece['date'] AS date,
                               piece['hour'] AS hour,
                               ",
                gpu_state_columns!(),
                ",
                               sum(piece['microseconds']) AS microseconds
                        FROM (
                            SELECT *, unnest(",
                $pieces,
                "(from_time, to_time)) AS piece
                            FROM (
                                SELECT cluster, machine, from_time, to_time, ",
                gpu_state_columns!(),
                "
                                FROM ",
                gpu_cut!(),
                "
                            )
                        )
                        GROUP BY cluster, machine, piece['start_time'], piece['date'],
                                 piece['hour'], ",
                gpu_state_columns!(),
                "
                    )
                )"
            ))
        )
    };
}

/// What counts of an allocation, by its measure: of rows with `measure`, `run_seconds`, `gpu_types`,
/// and for how long GPUs, CPUs and nodes were held. What is not known of one row is not known of the
/// whole: a model without a weight is not worth nothing.
macro_rules! allocation_amount {
    ($rows:expr) => {
        concat!(
            "
            SELECT *,
                   CASE measure
                        WHEN 'gpu' THEN gpu_seconds
                        WHEN 'cpu' THEN cpu_seconds
                        WHEN 'node' THEN node_seconds
                        WHEN 'weighted' THEN weighted_seconds
                   END AS seconds,
                   measure = 'weighted' AND weighted_seconds IS NULL AND gpu_seconds IS NOT NULL
                       AS is_unknown
            FROM (
                SELECT *,
                       CASE WHEN gpu_seconds = 0 THEN 0.0
                            ELSE gpu_weight(gpu_types) * run_seconds
                       END AS weighted_seconds
                FROM ",
            $rows,
            "
            )"
        )
    };
}

mod allocation_committed;
mod allocation_in_flight;
mod allocation_use;
mod collection_run;
mod gpu_held;
mod gpu_left_out;
mod gpu_time;
mod gpu_use;
mod gpu_use_by_day;
mod gpu_use_by_hour;
mod job_ended;
mod job_outcome;
mod job_run;
mod job_wait;
mod node_seen;
mod node_service;
mod queue_waited;
mod reject_seen;
mod usage;
mod usage_of_node;

use jiff::Timestamp;
use record::Table;

use crate::pieces::Pieces;
use crate::policy::Policies;
use crate::{Measure, Question, mentions};

/// A word that reports use.
pub struct Term {
    pub name: &'static str,
    pub meaning: &'static str,
    /// In it, `$start` and `$end` stand for the period, `$known_end` for its end or for now if that
    /// is earlier, never before the start; `$policy` for the number of the site policy at a span's
    /// start. Of a term with `$first_day` and
    /// `$last_day`, what stands before `UNION ALL` takes the sums of those days, and what stands
    /// behind it the attempts that are not in them. `$counts_nodes` is whether any allocation is
    /// of nodes, of which there are no sums.
    pub sql: &'static str,
}

impl Term {
    /// Whether it is defined by another.
    pub(crate) fn uses(&self, other: &Term) -> bool {
        mentions(self.sql, other.name)
    }
}

/// Every term; one may use those before it.
pub static TERMS: [&Term; 20] = [
    &job_run::TERM,
    &job_outcome::TERM,
    &job_ended::TERM,
    &job_wait::TERM,
    &usage::TERM,
    &usage_of_node::TERM,
    &allocation_use::TERM,
    &allocation_in_flight::TERM,
    &allocation_committed::TERM,
    &node_seen::TERM,
    &gpu_time::TERM,
    &gpu_use::TERM,
    &gpu_use_by_hour::TERM,
    &gpu_use_by_day::TERM,
    &gpu_held::TERM,
    &gpu_left_out::TERM,
    &node_service::TERM,
    &queue_waited::TERM,
    &collection_run::TERM,
    &reject_seen::TERM,
];

/// The statement that defines a term for a period.
pub(crate) fn create_view(
    term: &Term,
    question: &Question,
    policies: &Policies,
    pieces: &Pieces,
) -> String {
    let mut sql = term.sql.to_owned();
    if let Some((of_sums, of_attempts)) = term.sql.split_once("UNION ALL")
        && term.sql.contains("$first_day")
    {
        // A part that has nothing would still cost time to plan.
        match (pieces.whole_days, &pieces.rest[..]) {
            (Some((first, last)), rest) => {
                sql = if rest.is_empty() { of_sums.to_owned() } else { sql };
                sql = sql.replace("$first_day", &moment(first)).replace("$last_day", &moment(last));
            }
            (None, _) => sql = of_attempts.to_owned(),
        }
    }
    let counts_nodes =
        question.allocations_seen().any(|allocation| allocation.unit.measure == Measure::Node);
    sql = sql.replace("$counts_nodes", if counts_nodes { "true" } else { "false" });
    let sql = with_question(&sql, question, policies);
    format!("CREATE VIEW {} AS {sql}", term.name)
}

fn with_question(sql: &str, question: &Question, policies: &Policies) -> String {
    sql.replace("$start", &moment(question.period.start))
        .replace("$end", &moment(question.period.end))
        .replace("$known_end", &moment(question.known_end()))
        .replace("$policy", &policies.number_sql())
}

/// The statement that reads the spans of a period as [`crate::gpu_history`] holds them.
pub(crate) fn gpu_spans(question: &Question, policies: &Policies) -> String {
    with_question(
        concat!(
            "
            SELECT cluster, machine, gpu_id, primary_user, primary_job_id, backfill_user,
                   backfill_job_id, mean_use_ratio, from_time, to_time, ",
            gpu_state_columns!(),
            " FROM ",
            gpu_cut!()
        ),
        question,
        policies,
    )
}

/// The statement that judges what such spans say.
pub(crate) const GPU_KINDS: &str = concat!(
    "
    SELECT kind, device_name, device, family, tier, owner_class, primary_class, backfill_class,
           primary_use, backfill_use, state
    FROM ",
    gpu_shown!(
        "(
            SELECT *,
                   bool_or(projects_said) OVER (PARTITION BY cluster, machine) AS machine_projects
            FROM internal.gpu_kind
        )"
    )
);

/// Whether a term takes sums of days from a table.
pub(crate) fn rests_on(term: &Term, sums: &Table) -> bool {
    term.sql.contains(&format!("internal.summed_{}\n", sums.name))
}

/// Attempts that are in no sum, day by day. `$run` is the statement of `job_run` for a part of the period.
const JOB_PIECE: &str = "
    SELECT cluster, user, account, partition, qos, gpu_types, state, node_list,
           alloc_cpus, alloc_gpus, req_mem_mb, max_rss_mb, total_cpu_seconds,
           eligible_time, start_time, day_start,
           start_time >= day_start AS is_start,
           run_rate * seconds AS run_seconds,
           CASE WHEN whole_seconds > 0 THEN seconds / whole_seconds ELSE 1.0 END
               AS run_ratio
    FROM (
        SELECT touched.*,
               day.start_time AS day_start,
               seconds_between(
                   greatest(touched.from_time, day.start_time),
                   greatest(touched.from_time, least(touched.to_time, day.end_time))
               ) AS seconds
        FROM (
            SELECT *, unnest(days_touched(from_time, to_time)) AS day_date
            FROM ($run)
        ) AS touched
        JOIN day ON day.date = touched.day_date
    )
";

/// The statements that read `job` for terms that rest on sums of days.
pub(crate) fn job_piece_statements() -> [&'static str; 2] {
    [JOB_PIECE, job_run::TERM.sql]
}

/// The statement that defines `job_piece`: attempts that are in no sum, day by day.
pub(crate) fn create_job_piece(pieces: &Pieces) -> String {
    let parts: Vec<String> = pieces
        .rest
        .iter()
        .map(|(table, start, end)| {
            let run = job_run::TERM
                .sql
                .replace("FROM job\n", &format!("FROM {table}\n"))
                .replace("$start", &moment(*start))
                .replace("$end", &moment(*end));
            JOB_PIECE.replace("$run", &run)
        })
        .collect();
    format!("CREATE VIEW internal.job_piece AS {}", parts.join(" UNION ALL "))
}

/// A moment as SQL writes it, of the type that the lake's moments have.
pub(crate) fn moment(time: Timestamp) -> String {
    format!("arrow_cast({}, 'Timestamp(Microsecond, Some(\"UTC\"))')", time.as_microsecond())
}
