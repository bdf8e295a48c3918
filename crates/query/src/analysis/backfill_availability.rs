//! For how long backfill slots are available.

open_periods!(
    "backfill-availability",
    "For how long are GPUs open for backfill?",
    "backfill_phase",
    &[
        super::BACKFILL_OPEN,
        "A period ends when a backfill job takes the GPU; backfill-opportunity has the time that the owner left it.",
        super::BACKFILL_TIMES,
        super::GPU_SEEN,
    ]
);
