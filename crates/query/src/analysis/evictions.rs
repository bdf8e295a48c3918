//! How jobs on backfill are evicted.

use report::{Kind, Layout, Unit};

use super::{
    Alternative, Analysis, AnalysisOption, BACKFILL_LINKED, BY, Column, DEVICE, Drawn, DrawnBars,
    DrawnPart, GPU_SEEN, Values, by,
};

pub(super) static ANALYSIS: Analysis = Analysis {
    name: "evictions",
    question: "How are jobs on backfill evicted?",
    sql: "
        SELECT CASE WHEN is_whole = 1 THEN 'all' ELSE by_value END AS by,
               starts,
               CASE WHEN has_outcomes THEN evicted END AS evicted,
               CASE WHEN has_outcomes AND starts > 0 THEN 100.0 * evicted / starts END
                   AS per_100_starts,
               CASE WHEN has_outcomes THEN 24.0 * 3600 * evicted / nullif(run, 0) END AS per_day,
               lasted['median'] AS median,
               CASE WHEN has_outcomes THEN lost / 3600 END AS badput_hours,
               CASE WHEN is_in_history THEN finished / 3600 END AS goodput_hours,
               (run - lost - finished) / 3600 AS other_hours,
               CASE WHEN is_in_history THEN 100.0 * finished / nullif(lost + finished, 0) END
                   AS goodput_percent,
               by_owner,
               by_drain,
               evictor_known,
               unlinked
        FROM (
            SELECT by_value,
                   grouping(by_value) AS is_whole,
                   min(rank) AS rank,
                   count(*) FILTER (WHERE is_start) AS starts,
                   count(*) FILTER (WHERE is_eviction) AS evicted,
                   CAST(coalesce(sum(exact(gpu_seconds)), 0) AS DOUBLE) AS run,
                   CAST(coalesce(sum(exact(gpu_seconds)) FILTER (WHERE outcome = 'evicted'), 0)
                       AS DOUBLE) AS lost,
                   CAST(coalesce(sum(exact(gpu_seconds)) FILTER (WHERE outcome = 'finished'), 0)
                       AS DOUBLE) AS finished,
                   distribution(CASE WHEN is_eviction AND is_start_known THEN whole_seconds END, 1.0)
                       AS lasted,
                   count(*) FILTER (WHERE is_eviction AND cause = 'owner') AS by_owner,
                   count(*) FILTER (WHERE is_eviction AND cause IN (
                       'draining', 'drained', 'maintenance', 'rebooting'
                   )) AS by_drain,
                   count(*) FILTER (WHERE is_eviction AND evictor_confidence IS NOT NULL)
                       AS evictor_known,
                   count(*) FILTER (WHERE linked = 'spans') AS unlinked,
                   bool_or(linked <> 'spans') AS is_in_history,
                   bool_or(linked <> 'spans') OR NOT bool_or(is_end_unknown) AS has_outcomes
            FROM (
                SELECT *, $by AS by_value, $rank AS rank
                FROM (
                    SELECT *,
                           is_start_known AND start_time >= $start AS is_start,
                           outcome = 'evicted' AND end_time >= $start AND end_time < $known_end
                               AS is_eviction,
                           outcome = 'ended' OR (outcome = 'unknown' AND until_time < $known_end)
                               AS is_end_unknown,
                           seconds_between(start_time, end_time) AS whole_seconds,
                           gpus * seconds_between(
                               greatest(start_time, $start),
                               greatest(least(until_time, $known_end), $start)
                           ) AS gpu_seconds
                    FROM backfill_attempt
                    WHERE $device IS NULL OR is_device($device, device_name)
                )
            )
            GROUP BY GROUPING SETS ((), (by_value))
        )
        WHERE (is_whole = 1 OR $having) AND (starts > 0 OR evicted > 0 OR run > 0)
        ORDER BY is_whole DESC, rank, evicted DESC NULLS LAST, by_value NULLS LAST
    ",
    columns: &[
        BY,
        Column {
            name: "starts",
            heading: "Starts",
            unit: Unit::Count,
            meaning: "Executions on backfill that began in the period.",
        },
        Column {
            name: "evicted",
            heading: "Evicted",
            unit: Unit::Count,
            meaning: "Executions that were ended in the period by the owner's claim, by policy or by draining; a dash where the job history has none of the executions and samples do not show how all of them ended.",
        },
        Column {
            name: "per_100_starts",
            heading: "Per 100 starts",
            unit: Unit::Average,
            meaning: "Evictions for each 100 starts.",
        },
        Column {
            name: "per_day",
            heading: "Per GPU-day",
            unit: Unit::Average,
            meaning: "Evictions for each day that a GPU ran a backfill job.",
        },
        Column {
            name: "median",
            heading: "Median run",
            unit: Unit::Duration,
            meaning: "Half of those that were evicted had run no longer.",
        },
        Column {
            name: "badput_hours",
            heading: "Badput h",
            unit: Unit::Hours,
            meaning: "GPU hours of executions that were evicted, as far as they lie in the period.",
        },
        Column {
            name: "goodput_hours",
            heading: "Goodput h",
            unit: Unit::Hours,
            meaning: "GPU hours of executions that finished well; a dash where the job history has none of the executions.",
        },
        Column {
            name: "other_hours",
            heading: "Other h",
            unit: Unit::Hours,
            meaning: "GPU hours of the rest: they still run, failed, were removed, or it is not known how they ended.",
        },
        Column {
            name: "goodput_percent",
            heading: "Goodput %",
            unit: Unit::Percent,
            meaning: "Goodput, of goodput and badput.",
        },
        Column {
            name: "by_owner",
            heading: "By owner",
            unit: Unit::Count,
            meaning: "Evictions after which the owner's side was claimed.",
        },
        Column {
            name: "by_drain",
            heading: "By drain",
            unit: Unit::Count,
            meaning: "Evictions after which the GPU was draining, drained, in maintenance or rebooting, or kept from taking jobs.",
        },
        Column {
            name: "evictor_known",
            heading: "Evictor known",
            unit: Unit::Count,
            meaning: "Evictions at which a job of the owner began on the same GPU or machine; `--by evictor` has whose.",
        },
        Column {
            name: "unlinked",
            heading: "Unlinked",
            unit: Unit::Count,
            meaning: "Executions that were seen on GPUs and that no job history has.",
        },
    ],
    notes: &[BACKFILL_LINKED, GPU_SEEN],
    options: &[
        AnalysisOption {
            name: "by",
            meaning: "Add up by this; job lists those that were evicted more than once",
            values: Values::OneOf(&[
                by("device", &[("$by", "device"), ("$rank", "0"), ("$having", "true")], "Model"),
                by("reason", &[("$by", "CASE WHEN outcome = 'evicted' THEN coalesce(reason, cause) ELSE 'not evicted' END"), ("$rank", "0"), ("$having", "true")], "Reason"),
                by("user", &[("$by", "user"), ("$rank", "0"), ("$having", "true")], "User"),
                by("machine", &[("$by", "\"cluster\" || '/' || machine"), ("$rank", "0"), ("$having", "true")], "Machine"),
                by("cluster", &[("$by", "\"cluster\""), ("$rank", "0"), ("$having", "true")], "Cluster"),
                by("class", &[("$by", "backfill_class"), ("$rank", "class_rank(backfill_class)"), ("$having", "true")], "Class"),
                by("hour", &[("$by", "lpad(CAST(hour_of_week(coalesce(end_time, start_time))['hour'] % 24 AS VARCHAR), 2, '0')"), ("$rank", "hour_of_week(coalesce(end_time, start_time))['hour'] % 24"), ("$having", "true")], "Ended at"),
                Alternative {
                    word: "evictor",
                    replaces: &[
                        ("$by", "evictor_user"),
                        ("$rank", "0"),
                        ("$having", "by_value IS NOT NULL AND evicted > 0"),
                    ],
                    heading: "Evicted by",
                },
                Alternative {
                    word: "job",
                    replaces: &[
                        ("$by", "coalesce(user, '-') || ' ' || job_id"),
                        ("$rank", "0"),
                        ("$having", "evicted > 1"),
                    ],
                    heading: "Job",
                },
            ]),
        },
        DEVICE,
    ],
    drawn: Some(Drawn::Bars(DrawnBars {
        labels: &["by"],
        has_sums: true,
        heading: "GPU hours",
        layout: Layout::Stacked,
        parts: &[
            DrawnPart::new("goodput_hours", "finished well (goodput)", Kind::Ranked(2)),
            DrawnPart::new("badput_hours", "evicted (badput)", Kind::Ranked(4)),
            DrawnPart::new("other_hours", "still running, failed, removed or not known", Kind::Rest),
        ],
    })),
};
