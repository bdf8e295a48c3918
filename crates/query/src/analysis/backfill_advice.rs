//! Whether backfill suits a job.

use report::{Kind, Layout, Unit};

use super::{
    Analysis, AnalysisOption, BACKFILL_LINKED, BY, Column, DEVICE, Drawn, DrawnBars, DrawnPart,
    Values,
};

/// Below so many executions, or without any eviction among them, nothing is said.
pub(super) static ANALYSIS: Analysis = Analysis {
    name: "backfill-advice",
    question: "Does backfill suit my job?",
    // A job that begins anew after every eviction needs 1 / share executions, each of which lasts
    // mean_until on average (A. Wald). With checkpoints it is J. Daly's expected time (2006): mtbf
    // × (exp((interval + cost) / mtbf) - 1) × runtime / interval, for his first-order interval.
    sql: "
        SELECT CASE WHEN is_whole = 1 THEN 'all' ELSE device END AS by,
               life['observed'] AS starts,
               life['ended'] AS evicted,
               CASE WHEN is_enough THEN 100 * life['share'] END AS chance,
               CASE WHEN is_enough THEN 100 * life['lower'] END AS lower,
               CASE WHEN is_enough THEN 100 * life['upper'] END AS upper,
               CASE WHEN is_enough AND life['share'] > 0 THEN 1 / life['share'] END AS attempts,
               CASE WHEN is_enough AND life['share'] > 0
                    THEN life['mean_until'] / life['share']
               END AS wall_seconds,
               CASE WHEN is_enough THEN mtbf END AS mtbf,
               CASE WHEN is_enough THEN checkpoint_interval END AS checkpoint_interval,
               CASE WHEN is_enough
                    THEN mtbf * (exp((checkpoint_interval + $checkpoint-cost) / mtbf) - 1)
                         * $runtime / checkpoint_interval
               END AS checkpointed_seconds,
               CASE WHEN NOT is_enough THEN 'too few executions to tell'
                    WHEN life['share'] IS NULL THEN 'none was watched for so long'
                    WHEN life['share'] >= 0.9 THEN 'suits'
                    WHEN mtbf * (exp((checkpoint_interval + $checkpoint-cost) / mtbf) - 1)
                         / checkpoint_interval <= 1.25 THEN 'suits with checkpoints'
                    WHEN life['share'] >= 0.5 THEN 'worth a try'
                    ELSE 'does not suit'
               END AS verdict
        FROM (
            SELECT *,
                   life['observed'] >= 20 AS is_enough,
                   CASE WHEN mtbf > $checkpoint-cost / 2
                        THEN least(
                            sqrt(2 * $checkpoint-cost * mtbf)
                                * (1 + sqrt($checkpoint-cost / (2 * mtbf)) / 3
                                   + $checkpoint-cost / (2 * mtbf) / 9)
                                - $checkpoint-cost,
                            $runtime
                        )
                        ELSE mtbf
                   END AS checkpoint_interval
            FROM (
                SELECT device,
                       grouping(device) AS is_whole,
                       survival(seconds, outcome = 'evicted', $runtime) AS life,
                       sum(seconds) / nullif(count(*) FILTER (WHERE outcome = 'evicted'), 0)
                           AS mtbf
                FROM (
                    SELECT outcome, device,
                           seconds_between(start_time, until_time) AS seconds
                    FROM backfill_attempt
                    WHERE is_start_known AND start_time >= $start AND start_time < $known_end
                      AND gpus = $gpus
                      AND ($device IS NULL OR is_device($device, device_name))
                )
                GROUP BY GROUPING SETS ((), (device))
            )
        )
        WHERE life['observed'] > 0
        ORDER BY is_whole DESC, chance DESC NULLS LAST, mtbf DESC NULLS LAST, by NULLS LAST
    ",
    columns: &[
        Column { heading: "Model", ..BY },
        Column {
            name: "starts",
            heading: "Starts",
            unit: Unit::Count,
            meaning: "Executions with so many GPUs that began in the period, on which it rests. Below 20 nothing is said.",
        },
        Column {
            name: "evicted",
            heading: "Evicted",
            unit: Unit::Count,
            meaning: "How many of these were evicted.",
        },
        Column {
            name: "chance",
            heading: "Chance %",
            unit: Unit::Percent,
            meaning: "That the job is not evicted before it is done, by Kaplan and Meier's estimate.",
        },
        Column {
            name: "lower",
            heading: "Lower %",
            unit: Unit::Percent,
            meaning: "The lower end of its 95 % confidence band.",
        },
        Column {
            name: "upper",
            heading: "Upper %",
            unit: Unit::Percent,
            meaning: "The upper end.",
        },
        Column {
            name: "attempts",
            heading: "Attempts",
            unit: Unit::Average,
            meaning: "How many executions it takes on average if each begins anew.",
        },
        Column {
            name: "wall_seconds",
            heading: "Wall time",
            unit: Unit::Duration,
            meaning: "How long these run together on average; waiting for a GPU comes on top.",
        },
        Column {
            name: "mtbf",
            heading: "Per eviction",
            unit: Unit::Duration,
            meaning: "How long executions ran for each eviction.",
        },
        Column {
            name: "checkpoint_interval",
            heading: "Checkpoint every",
            unit: Unit::Duration,
            meaning: "What loses the least time if a checkpoint costs what is said (J. Daly's estimate, 2006), the job's runtime at the most.",
        },
        Column {
            name: "checkpointed_seconds",
            heading: "With checkpoints",
            unit: Unit::Duration,
            meaning: "How long it takes on average with such checkpoints, restarts included.",
        },
        Column {
            name: "verdict",
            heading: "Verdict",
            unit: Unit::Label,
            meaning: "suits: 9 in 10 are not evicted; suits with checkpoints: these cost at most a quarter of the runtime; worth a try: every second is not evicted.",
        },
    ],
    notes: &[
        "The chance is that of jobs before this one on such GPUs; that the owner's habits do not change is assumed. The checkpoint interval takes evictions to come at a constant rate.",
        BACKFILL_LINKED,
    ],
    options: &[
        AnalysisOption {
            name: "runtime",
            meaning: "How long the job runs if nothing stops it, such as 6h or 90m",
            values: Values::Duration("6h"),
        },
        AnalysisOption {
            name: "gpus",
            meaning: "How many GPUs it needs",
            values: Values::Number("1"),
        },
        AnalysisOption {
            name: "checkpoint-cost",
            meaning: "How long it takes to write a checkpoint",
            values: Values::Duration("5m"),
        },
        DEVICE,
    ],
    drawn: Some(Drawn::Bars(DrawnBars {
        labels: &["by"],
        has_sums: true,
        heading: "Chance % of no eviction before the job is done",
        layout: Layout::Beside,
        parts: &[DrawnPart {
            band: Some(["lower", "upper"]),
            ..DrawnPart::new("chance", "chance, with its 95 % confidence band", Kind::Ranked(0))
        }],
    })),
};
