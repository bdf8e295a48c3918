//! The time of GPUs, added up by hour, machine and state.

use super::Term;

pub(super) static TERM: Term = Term {
    name: "gpu_use_by_hour",
    meaning: "seconds of gpu_time added up by hour of the site's calendar, machine and state: \
              start_time, date and hour (of the day) are the hour's, the rest as in gpu_use",
    sql: gpu_use_by!("pieces_by_hour"),
};
