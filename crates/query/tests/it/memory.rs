//! Questions within a limit of memory: what our own passes hold counts too.

use query::{Memory, Refused, Selection};
use sqllogictest::AsyncDB;

use crate::site::Site;

/// A GPU that changes hands every minute of a day, on the backfill side.
async fn site() -> Site {
    let mut site = Site::new();
    let spans: Vec<String> = (0..1440)
        .map(|minute| {
            let time = |minute: usize| match minute {
                1440 => "2026-01-02T00:00:00Z".to_owned(),
                _ => format!("2026-01-01T{:02}:{:02}:00Z", minute / 60, minute % 60),
            };
            let state = if minute % 2 == 0 { "Claimed" } else { "Unclaimed" };
            format!(
                "('gpu01', 'GPU-1', '{}', '{}', 'Unclaimed', '{state}', 'slot2', 'user{minute}')",
                time(minute),
                time(minute + 1)
            )
        })
        .collect();
    let insert = format!(
        "INSERT INTO gpu_span (machine, gpu_id, start_time, end_time, primary_state, backfill_state, \
         backfill_slot, backfill_user) VALUES {}",
        spans.join(", ")
    );
    site.run(&insert).await.unwrap();
    site
}

#[tokio::test]
async fn what_our_own_passes_hold_counts_and_is_given_back() {
    let mut site = site().await;
    let analysis = query::analysis("backfill-users").unwrap();
    let expected = query::run(&site.lake, analysis, &site.question).await.unwrap();
    // Every second minute is another's.
    assert!(expected.table.rows.len() >= 720);

    // A span takes 64 bytes, so 1440 of them more than this.
    site.question.memory = Memory::limited(80_000).unwrap();
    let refused = query::run(&site.lake, analysis, &site.question).await.unwrap_err();
    assert!(refused.is::<Refused>(), "{refused:#}");
    let wish = query::Heatmap::default();
    let selection = Selection::default();
    let refused = query::heatmap(&site.lake, &site.question, &selection, &wish).await;
    assert!(refused.unwrap_err().is::<Refused>());

    // Enough for one at a time, and not for two.
    site.question.memory = Memory::limited(8 * 1024 * 1024).unwrap();
    for _ in 0..40 {
        let answer = query::run(&site.lake, analysis, &site.question).await.unwrap();
        assert_eq!(answer.table, expected.table);
    }
}
