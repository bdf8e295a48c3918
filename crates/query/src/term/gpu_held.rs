//! The time for which users held GPUs.

use super::Term;

pub(super) static TERM: Term = Term {
    name: "gpu_held",
    meaning: "seconds for which a user held GPUs of a machine, added up by side (primary or \
              backfill), class of the slot, machine and model; the user is unknown where the \
              scheduler did not say. Masked machines and hidden families are not in it",
    // Where both sides are claimed, the primary side has the GPU: no time counts twice.
    sql: concat!(
        "
        SELECT cluster, machine, device_name, device, family, tier, weight, memory_class,
               owner_class,
               CASE WHEN state = 'claimed' THEN 'primary' ELSE 'backfill' END AS side,
               CASE WHEN state = 'claimed' THEN primary_class ELSE backfill_class END AS class,
               user,
               microseconds / 1e6 AS seconds
        FROM ",
        gpu_shown!(concat!(
            "(
                        SELECT *,
                               bool_or(projects_said) OVER (PARTITION BY cluster, machine)
                                   AS machine_projects
                        FROM (
                            SELECT cluster, machine, user, ",
            gpu_state_columns!(),
            ",
                                   sum(arrow_cast(to_time, 'Int64') - arrow_cast(from_time, 'Int64'))
                                       AS microseconds
                            FROM (
                                SELECT *,
                                       CASE WHEN primary_state IN ('Claimed', 'Preempting')
                                            THEN primary_user
                                            ELSE backfill_user
                                       END AS user
                                FROM ",
            gpu_cut!(),
            "
                            )
                            GROUP BY cluster, machine, user, ",
            gpu_state_columns!(),
            "
                        )
                    )"
        )),
        "
        WHERE state IN ('claimed', 'backfill')
    "
    ),
};
