//! A GPU in one state, cut to the period and judged.

use super::Term;

pub(super) static TERM: Term = Term {
    name: "gpu_time",
    meaning: "a GPU's span, cut to the period: seconds from from_time to to_time. primary_use is \
              claimed, idle, draining, drained, down, maintenance, rebooting, prevented, other, or \
              unknown where no primary slot was seen; backfill_use is claimed, available, taken (by \
              the primary side), conflict (both sides claimed), or unknown where it is not offered, \
              and otherwise as primary_use; state is \
              what the GPU as a whole did: primary_use, or backfill where only that side is \
              claimed. owner_class is of the machine, primary_class and backfill_class of its \
              slots; device, family, tier, weight and memory_class of the model. Masked machines \
              and hidden families are not in it",
    sql: concat!(
        "
        SELECT * EXCEPT (is_institution, is_prioritized, is_prioritized_machine,
                         is_backfill_claimed, projects_said, has_backfill, masked, hidden,
                         policy),
               seconds_between(from_time, to_time) AS seconds
        FROM ",
        gpu_shown!(concat!(
            "(
                        SELECT span.*, machine.machine_projects
                        FROM ",
            gpu_cut!(),
            " AS span
                        JOIN (
                            SELECT cluster, machine, bool_or(projects_said) AS machine_projects
                            FROM ",
            gpu_cut!(),
            "
                            GROUP BY cluster, machine
                        ) AS machine
                        ON machine.cluster = span.cluster AND machine.machine = span.machine
                    )"
        ))
    ),
};
