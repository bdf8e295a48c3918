//! The words that reports use, each defined once, as a view.

mod collection_run;
mod job_ended;
mod job_outcome;
mod job_run;
mod job_wait;
mod node_seen;
mod reject_seen;
mod usage;
mod usage_of_node;

use jiff::Timestamp;
use record::Table;
use report::Period;

use crate::pieces::Pieces;

/// A word that reports use.
pub struct Term {
    pub name: &'static str,
    pub meaning: &'static str,
    /// In it, `$start` and `$end` stand for the period. Of a term with `$first_day` and
    /// `$last_day`, what stands before `UNION ALL` takes the sums of those days, and what stands
    /// behind it the attempts that are not in them.
    pub sql: &'static str,
}

/// Every term; one may use those before it.
pub static TERMS: [&Term; 9] = [
    &job_run::TERM,
    &job_outcome::TERM,
    &job_ended::TERM,
    &job_wait::TERM,
    &usage::TERM,
    &usage_of_node::TERM,
    &node_seen::TERM,
    &collection_run::TERM,
    &reject_seen::TERM,
];

/// The statement that defines a term for a period.
pub(crate) fn create_view(term: &Term, period: &Period, pieces: &Pieces) -> String {
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
    let sql = sql.replace("$start", &moment(period.start)).replace("$end", &moment(period.end));
    format!("CREATE VIEW {} AS {sql}", term.name)
}

/// Whether a term takes sums of days from a table.
pub(crate) fn rests_on(term: &Term, sums: &Table) -> bool {
    term.sql.contains(&format!("internal.summed_{}\n", sums.name))
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
            format!(
                "
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
                        FROM ({run})
                    ) AS touched
                    JOIN day ON day.date = touched.day_date
                )
                "
            )
        })
        .collect();
    format!("CREATE VIEW internal.job_piece AS {}", parts.join(" UNION ALL "))
}

/// A moment as SQL writes it, of the type that the lake's moments have.
fn moment(time: Timestamp) -> String {
    format!("arrow_cast({}, 'Timestamp(Microsecond, Some(\"UTC\"))')", time.as_microsecond())
}
