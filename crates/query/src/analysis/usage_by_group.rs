//! Which group used how much, and how well.

usage_by!(
    "usage-by-group",
    "Which group used how much, and how well?",
    "group_name",
    "(
                        SELECT usage.*, coalesce(user_group.\"group\", 'ungrouped') AS group_name
                        FROM usage
                        LEFT JOIN user_group ON user_group.user = usage.user
                    )",
    "Group",
    "The group by configuration; ungrouped is who is in none.",
    &[
        super::RUNNING_JOBS,
        "A user in several groups counts in each. Groups are the [groups] of plimsoll.toml.",
        "Efficiency is over the attempts where use was measured; a dash means that none was.",
    ]
);
