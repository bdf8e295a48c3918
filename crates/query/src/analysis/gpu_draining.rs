//! When GPUs were drained, down, in maintenance or rebooting, and why.

use report::Unit;

use super::{Analysis, Column, GPU_REASONS};

pub(super) static ANALYSIS: Analysis = Analysis {
    name: "gpu-draining",
    question: "Which GPUs were drained or out of service, when, and why?",
    sql: "
        SELECT cluster, machine, gpu_id,
               max(device) AS device,
               min(from_time) AS start_time,
               max(to_time) AS end_time,
               seconds_between(min(from_time), max(to_time)) / 3600 AS hours,
               reason,
               state
        FROM (
            SELECT *,
                   sum(is_new) OVER (
                       PARTITION BY cluster, machine, gpu_id
                       ORDER BY from_time
                   ) AS interval_number
            FROM (
                SELECT cluster, machine, gpu_id, device, from_time, to_time, state,
                       prevent_reason AS reason,
                       CASE WHEN from_time = lag(to_time) OVER (
                                     PARTITION BY cluster, machine, gpu_id ORDER BY from_time
                                 )
                             AND state = lag(state) OVER (
                                     PARTITION BY cluster, machine, gpu_id ORDER BY from_time
                                 )
                             AND (prevent_reason IS NOT DISTINCT FROM lag(prevent_reason) OVER (
                                     PARTITION BY cluster, machine, gpu_id ORDER BY from_time
                                 ))
                            THEN 0
                            ELSE 1
                       END AS is_new
                FROM gpu_time
                WHERE state IN ('draining', 'drained', 'down', 'maintenance', 'rebooting')
            )
        )
        GROUP BY cluster, machine, gpu_id, reason, state, interval_number
        ORDER BY cluster, machine, gpu_id, start_time
    ",
    columns: &[
        Column { name: "cluster", heading: "Cluster", unit: Unit::Label, meaning: "The cluster." },
        Column { name: "machine", heading: "Machine", unit: Unit::Label, meaning: "The machine." },
        Column { name: "gpu_id", heading: "GPU", unit: Unit::Label, meaning: "The GPU." },
        Column { name: "device", heading: "Model", unit: Unit::Label, meaning: "Its model." },
        Column {
            name: "start_time",
            heading: "From",
            unit: Unit::Time,
            meaning: "When it was first seen in this state, or the period's start.",
        },
        Column {
            name: "end_time",
            heading: "To",
            unit: Unit::Time,
            meaning: "Until when it was, as far as is known.",
        },
        Column { name: "hours", heading: "Hours", unit: Unit::Hours, meaning: "How long that is." },
        Column {
            name: "reason",
            heading: "Reason",
            unit: Unit::Label,
            meaning: "What was given as the reason; a dash if nothing was.",
        },
        Column {
            name: "state",
            heading: "State",
            unit: Unit::Label,
            meaning: "draining (jobs still run on other GPUs or CPUs of the machine), drained, down, maintenance or rebooting.",
        },
    ],
    notes: &[
        "A GPU on which a job runs is not listed, though its machine drains. Time of which nothing is known ends an interval.",
        GPU_REASONS,
    ],
    options: &[],
    drawn: None,
};
