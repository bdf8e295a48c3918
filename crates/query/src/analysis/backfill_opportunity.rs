//! For how long a job could have run on GPUs that their owners do not use.

open_periods!(
    "backfill-opportunity",
    "For how long could a job have run before the owner came back?",
    "primary_phase",
    &[
        "A period is the time during which the owner's side of a GPU is idle, whatever backfill does meanwhile.",
        "Only GPUs that are offered for backfill at some time in the period count: those with a backfill slot in HTCondor, and those whose node takes jobs of a backfill partition or QOS in SLURM.",
        super::BACKFILL_TIMES,
        super::GPU_SEEN,
    ]
);
