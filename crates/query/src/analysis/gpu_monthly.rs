//! How much of the GPUs was used, month by month.

gpu_calendar!(
    "gpu-monthly",
    "How much of the GPUs was used, month by month?",
    "month",
    "Month",
    "The month's first day, of the site's calendar; a month that the period cuts short counts for its part."
);
