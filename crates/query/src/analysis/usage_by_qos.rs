//! Which quality of service was used how much, and how well.

usage_by!(
    "usage-by-qos",
    "Which quality of service was used how much, and how well?",
    "qos",
    "usage",
    "QOS",
    "The quality of service that was asked for; a dash where there is none.",
    super::USAGE_NOTES
);
