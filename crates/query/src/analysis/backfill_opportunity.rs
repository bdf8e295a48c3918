//! For how long a job could have run on GPUs that their owners do not use.

open_periods!(
    "backfill-opportunity",
    "For how long could a job have run before the owner came back?",
    "primary_phase",
    &[
        "A period is the time during which the owner's side of a GPU is idle, whatever backfill does meanwhile.",
        super::GPU_SEEN,
    ]
);
