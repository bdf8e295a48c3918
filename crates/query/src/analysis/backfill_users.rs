//! Who used GPUs by backfill, on whose machines.

gpu_users!(
    "backfill-users",
    "Who used GPUs by backfill, on whose machines?",
    "side = 'backfill'",
    "(user), (class, user)",
    &[
        "The class of a backfill slot follows its machine: researchers', the institution's, or open capacity.",
        super::GPU_SEEN,
        super::GPU_BACKFILL,
    ]
);
