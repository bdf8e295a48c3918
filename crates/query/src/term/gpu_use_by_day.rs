//! The time of GPUs, added up by day, machine and state.

use super::Term;

pub(super) static TERM: Term = Term {
    name: "gpu_use_by_day",
    meaning: "seconds of gpu_time added up by day of the site's calendar, machine and state: \
              start_time and date are the day's, the rest as in gpu_use",
    sql: gpu_use_by!("pieces_by_day"),
};
