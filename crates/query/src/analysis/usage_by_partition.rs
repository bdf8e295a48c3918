//! Which partition was used how much, and how well.

usage_by!(
    "usage-by-partition",
    "Which partition was used how much, and how well?",
    "partition",
    "usage",
    "Partition",
    "The partition or partitions that attempts were submitted to; a dash where there is none.",
    super::USAGE_NOTES
);
