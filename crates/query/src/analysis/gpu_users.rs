//! Who held GPUs, for how long.

gpu_users!(
    "gpu-users",
    "Who held GPUs, for how long, in slots of which class?",
    "true",
    "(class, user)",
    &[super::GPU_SEEN, super::GPU_BACKFILL]
);
