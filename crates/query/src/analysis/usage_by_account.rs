//! Which account used how much, and how well.

usage_by!(
    "usage-by-account",
    "Which account used how much, and how well?",
    "account",
    "usage",
    "Account",
    "The account or project that is charged; a dash where there is none.",
    super::USAGE_NOTES
);
