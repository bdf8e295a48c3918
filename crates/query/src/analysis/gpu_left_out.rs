//! Which GPUs reports do not speak of, and why.

use report::Unit;

use super::{Analysis, Column};

pub(super) static ANALYSIS: Analysis = Analysis {
    name: "gpu-left-out",
    question: "Which GPUs are left out of reports, and why?",
    sql: "
        SELECT cluster, machine, gpus, masked, family
        FROM gpu_left_out
        ORDER BY masked NULLS LAST, family, cluster, machine
    ",
    columns: &[
        Column { name: "cluster", heading: "Cluster", unit: Unit::Label, meaning: "The cluster." },
        Column { name: "machine", heading: "Machine", unit: Unit::Label, meaning: "The machine." },
        Column {
            name: "gpus",
            heading: "GPUs",
            unit: Unit::Count,
            meaning: "Its GPUs that were seen in the period and are left out.",
        },
        Column {
            name: "masked",
            heading: "Masked because",
            unit: Unit::Label,
            meaning: "The reason that the site gives for leaving the machine out; a dash if it does not.",
        },
        Column {
            name: "family",
            heading: "Hidden family",
            unit: Unit::Label,
            meaning: "The family of GPUs that the site hides, on machines that are not left out.",
        },
    ],
    notes: &["Jobs on these GPUs count in reports about jobs: only what GPUs did is left out."],
    options: &[],
    drawn: None,
};
