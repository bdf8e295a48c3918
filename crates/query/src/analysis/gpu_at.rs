//! Every GPU at one moment.

use report::Unit;

use super::{Analysis, AnalysisOption, Column, DEVICE, GPU_SEEN, NODE, Values};

pub(super) static ANALYSIS: Analysis = Analysis {
    name: "gpu-at",
    question: "What did every GPU do at one moment?",
    sql: "
        SELECT cluster, machine, gpu_id, device,
               CASE WHEN state = 'backfill' THEN backfill_class ELSE primary_class END AS class,
               state,
               CASE WHEN state = 'backfill' THEN backfill_user ELSE primary_user END AS user,
               CASE WHEN state = 'backfill' THEN backfill_job_id ELSE primary_job_id END AS job_id,
               100 * mean_use_ratio AS measured_percent,
               prevent_reason AS reason,
               from_time AS since_time
        FROM gpu_time
        WHERE from_time <= $at
          AND to_time > $at
          AND ($device IS NULL OR is_device($device, device_name))
          AND ($node IS NULL OR machine = $node)
          AND ($gpu IS NULL OR is_gpu($gpu, gpu_id))
        ORDER BY cluster, machine, gpu_id
    ",
    columns: &[
        Column { name: "cluster", heading: "Cluster", unit: Unit::Label, meaning: "The cluster." },
        Column { name: "machine", heading: "Machine", unit: Unit::Label, meaning: "The machine." },
        Column { name: "gpu_id", heading: "GPU", unit: Unit::Label, meaning: "The GPU." },
        Column { name: "device", heading: "Model", unit: Unit::Label, meaning: "Its model." },
        Column {
            name: "class",
            heading: "Class",
            unit: Unit::Label,
            meaning: "The class of the slot that holds it, or that offers it first.",
        },
        Column {
            name: "state",
            heading: "State",
            unit: Unit::Label,
            meaning: "claimed, backfill (claimed by it alone), idle, draining, drained, down, maintenance, rebooting, prevented, other or unknown.",
        },
        Column { name: "user", heading: "User", unit: Unit::Label, meaning: "Who holds it." },
        Column {
            name: "job_id",
            heading: "Job",
            unit: Unit::Label,
            meaning: "The job that holds it.",
        },
        Column {
            name: "measured_percent",
            heading: "Measured %",
            unit: Unit::Percent,
            meaning: "Measured use while it was in this state, on that day; a dash where it was not measured.",
        },
        Column {
            name: "reason",
            heading: "Reason",
            unit: Unit::Label,
            meaning: "Why the machine takes no jobs.",
        },
        Column {
            name: "since_time",
            heading: "Since",
            unit: Unit::Time,
            meaning: "When it was first seen in this state on that day.",
        },
    ],
    notes: &["A GPU that was not seen at that moment is not listed.", GPU_SEEN],
    options: &[
        DEVICE,
        NODE,
        AnalysisOption {
            name: "gpu",
            meaning: "Only GPUs with this id, or whose id begins so; * and ? stand for letters, a regular expression stands between slashes",
            values: Values::Filter,
        },
        AnalysisOption {
            name: "at",
            meaning: "The moment, within the period; without one, its last",
            values: Values::Moment,
        },
    ],
    drawn: None,
};
