//! How much of the GPUs was used, week by week.

gpu_calendar!(
    "gpu-weekly",
    "How much of the GPUs was used, week by week?",
    "week",
    "Week",
    "The week's Monday, of the site's calendar; a week that the period cuts short counts for its part."
);
