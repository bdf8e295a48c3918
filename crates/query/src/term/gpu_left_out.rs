//! What the site wants left out of what is said of GPUs.

use super::Term;

pub(super) static TERM: Term = Term {
    name: "gpu_left_out",
    meaning: "the GPUs of a machine that are seen in the period and are not in gpu_time, gpu_use \
              and gpu_held: by a mask (masked is its reason), or else because the site hides their \
              family",
    sql: concat!(
        "
        SELECT cluster, machine, masked, family, count(*) AS gpus
        FROM (
            SELECT DISTINCT cluster, machine, gpu_id, masked,
                   CASE WHEN masked IS NULL THEN family END AS family
            FROM ",
        gpu_judged!(concat!(
            "(
                        SELECT DISTINCT cluster, machine, gpu_id, false AS machine_projects, ",
            gpu_state_columns!(),
            "
                        FROM ",
            gpu_cut!(),
            "
                    )"
        )),
        "
            WHERE masked IS NOT NULL OR hidden
        )
        GROUP BY cluster, machine, masked, family
    "
    ),
};
