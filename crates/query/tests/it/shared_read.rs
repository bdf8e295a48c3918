//! Questions about the same user, account or group share what they read, and answer as each alone.

use query::{Analysis, Ask};
use sqllogictest::AsyncDB;

use crate::site::Site;

/// Jobs of two users in two accounts: some that ended before, in and after the period, over its ends,
/// some that wait or run, and one that never started.
async fn site() -> Site {
    let mut site = Site::new();
    let rows = [
        "('1', 'ann', 'lab', '2026-01-01T08:00:00Z', '2026-01-01T08:10:00Z', '2026-01-01T09:00:00Z', 'COMPLETED')",
        "('2', 'ann', 'lab', '2026-01-01T08:00:00Z', '2026-01-01T23:00:00Z', '2026-01-02T01:00:00Z', 'COMPLETED')",
        "('3', 'ann', 'bio', '2026-01-02T08:00:00Z', '2026-01-02T09:00:00Z', '2026-01-02T10:00:00Z', 'TIMEOUT')",
        "('4', 'ann', 'lab', '2026-01-02T09:00:00Z', '2026-01-02T23:00:00Z', '2026-01-03T01:00:00Z', 'FAILED')",
        "('5', 'ann', 'lab', '2026-01-01T09:00:00Z', '2026-01-02T12:00:00Z', NULL, 'RUNNING')",
        "('6', 'ann', 'lab', '2026-01-02T09:00:00Z', NULL, NULL, 'PENDING')",
        "('7', 'ann', 'lab', '2026-01-02T09:00:00Z', NULL, '2026-01-02T11:00:00Z', 'CANCELLED')",
        "('8', 'bob', 'lab', '2026-01-02T08:00:00Z', '2026-01-02T09:00:00Z', '2026-01-02T10:00:00Z', 'COMPLETED')",
    ];
    for statement in [
        "GROUP 'lab' 'ann' 'bob'".to_owned(),
        "PERIOD '2026-01-02T00:00:00Z' '2026-01-03T00:00:00Z'".to_owned(),
        format!(
            "INSERT INTO job (job_id, user, account, submit_time, start_time, end_time, state) VALUES {}",
            rows.join(", ")
        ),
    ] {
        site.run(&statement).await.unwrap();
    }
    site
}

/// Every analysis that can be told an option, asked with the others and alone.
async fn check(name: &str, said: &str, expected_jobs: usize) {
    let mut site = site().await;
    site.question.options = [(name.to_owned(), said.to_owned())].into();
    let has_option = |analysis: &&&Analysis| {
        analysis.options.iter().any(|option| option.name == name)
            && !analysis
                .options
                .iter()
                .any(|option| matches!(option.values, query::Values::Subject))
    };
    let analyses: Vec<&Analysis> = query::ANALYSES.iter().filter(has_option).copied().collect();
    let asks: Vec<Ask> = analyses
        .iter()
        .map(|analysis| Ask { analysis, options: site.question.options.clone(), top: None })
        .collect();
    let shared = query::run_each(&site.lake, &asks, &site.question).await.unwrap();
    for (analysis, shared) in analyses.iter().zip(shared) {
        let alone = query::run(&site.lake, analysis, &site.question).await.unwrap();
        assert_eq!(shared.table, alone.table, "{} of {name} {said}", analysis.name);
        if analysis.name == "jobs" {
            assert_eq!(shared.table.rows.len(), expected_jobs, "{name} {said}");
        }
    }
}

/// Of the eight jobs one ended before the period; one of the others is bob's, and one of bio.
#[tokio::test]
async fn what_is_shared_says_what_each_says_alone() {
    check("user", "ann", 6).await;
    check("user", "nobody", 0).await;
    check("account", "lab", 6).await;
    check("group", "lab", 7).await;
}
