//! Pictures of a small lake: every state, what is left out, who is selected.

use query::{By, Coloring, GroupBy, Heatmap, NamedChart, Rows, Selection};
use report::{Cells, Drawing, Grid, Picture};
use sqllogictest::AsyncDB;

use crate::site::{Site, period};

/// Three hours of nine GPUs. `owned` is a machine on which a project comes first.
async fn site() -> Site {
    let mut site = Site::new();
    let mut rows = Vec::new();
    for (machine, gpu, start, end, primary, user, backfill, backfill_user, reason, projects) in [
        ("owned", "g1", 0, 2, "'Claimed'", "'ann'", "'Unclaimed'", "NULL", "NULL", "'lab'"),
        ("owned", "g1", 2, 3, "'Unclaimed'", "NULL", "'Claimed'", "'bob'", "NULL", "'lab'"),
        ("owned", "g2", 0, 3, "'Unclaimed'", "NULL", "'Unclaimed'", "NULL", "NULL", "'lab'"),
        ("open", "g3", 0, 1, "'Claimed'", "'bob'", "NULL", "NULL", "NULL", "''"),
        ("open", "g3", 1, 2, "'Unclaimed'", "NULL", "NULL", "NULL", "NULL", "''"),
        ("open", "g4", 0, 1, "'Drained'", "NULL", "NULL", "NULL", "NULL", "''"),
        ("open", "g4", 1, 2, "'Unclaimed'", "NULL", "NULL", "NULL", "'fan'", "''"),
        ("open", "g4", 2, 3, "'Owner'", "NULL", "NULL", "NULL", "NULL", "''"),
        ("spare", "g5", 0, 3, "'Unclaimed'", "NULL", "NULL", "NULL", "NULL", "''"),
    ] {
        rows.push(format!(
            "('{machine}', '{gpu}', '2026-01-01T0{start}:00:00Z', '2026-01-01T0{end}:00:00Z', \
             {primary}, {user}, {backfill}, {backfill_user}, {reason}, {projects})"
        ));
    }
    site.run(&format!(
        "INSERT INTO gpu_span (machine, gpu_id, start_time, end_time, primary_state, primary_user, \
         backfill_state, backfill_user, prevent_reason, prioritized_projects) VALUES {}",
        rows.join(", ")
    ))
    .await
    .unwrap();
    site.question.period = period("2026-01-01T00:00:00Z", "2026-01-01T03:00:00Z", "UTC").unwrap();
    site.question.now = site.question.period.end;
    site
}

fn hourly() -> Heatmap {
    Heatmap { bucket: Some(query::Bucket::parse("1h").unwrap()), ..Heatmap::default() }
}

fn grid(picture: &Picture) -> &Grid {
    match &picture.drawing {
        Drawing::Grid(grid) => grid,
        other => panic!("{other:?}"),
    }
}

/// A line a row: its label, and what its cells show.
fn shown(picture: &Picture) -> Vec<String> {
    let grid = grid(picture);
    let Cells::Longest(cells) = &grid.cells else { panic!("a GPU's cells have one category") };
    let name = |cell: &report::Cell| grid.categories[usize::from(cell.category)].name.as_str();
    let rows = grid.rows.iter().zip(cells.chunks(grid.columns.len()));
    rows.map(|(row, cells)| {
        let cells: Vec<&str> = cells.iter().map(name).collect();
        format!("{} {}: {}", row.group, row.label, cells.join(", "))
    })
    .collect()
}

#[tokio::test]
async fn a_heatmap_tells_why_a_node_took_no_jobs() {
    let mut site = site().await;
    let states = ["draining", "drained", "down", "maintenance", "rebooting", "prevented"];
    let rows: Vec<String> = states
        .iter()
        .zip(0..)
        .map(|(state, hour)| {
            format!(
                "('n', 'g', '2026-01-02T0{hour}:00:00Z', '2026-01-02T0{}:00:00Z', 'x', '{state}')",
                hour + 1
            )
        })
        .collect();
    site.run(&format!(
        "INSERT INTO gpu_span (machine, gpu_id, start_time, end_time, primary_state, availability) \
         VALUES {}",
        rows.join(", ")
    ))
    .await
    .unwrap();
    site.question.period = period("2026-01-02T00:00:00Z", "2026-01-02T06:00:00Z", "UTC").unwrap();
    site.question.now = site.question.period.end;
    let selection = Selection { hosts: vec!["n".to_owned()], ..Selection::default() };
    let picture = query::heatmap(&site.lake, &site.question, &selection, &hourly()).await.unwrap();
    assert_eq!(
        shown(&picture),
        ["n g: draining, drained, down, maintenance, rebooting, prevented or unusable"]
    );
    assert_eq!(picture.title, "What GPUs did: host n");
}

#[tokio::test]
async fn every_state_is_seen_in_the_lake() {
    let site = site().await;
    let picture =
        query::heatmap(&site.lake, &site.question, &Selection::default(), &hourly()).await.unwrap();
    assert_eq!(
        shown(&picture),
        [
            "open g3: busy open capacity, idle open capacity, N/A",
            "open g4: drained, prevented or unusable, prevented or unusable",
            "owned g1: busy prioritized, busy prioritized, busy backfill",
            "owned g2: idle prioritized, idle prioritized, idle prioritized",
            "spare g5: idle open capacity, idle open capacity, idle open capacity",
        ]
    );
    assert_eq!(picture.subtitle, "5 GPUs on 3 machines, a column is 1 hour");
    // Of 15 GPU hours.
    let percents: Vec<f64> =
        grid(&picture).categories.iter().map(|category| category.percent.unwrap()).collect();
    let hours = [2, 1, 1, 3, 4, 0, 1, 0, 0, 0, 2, 1].map(|hours| f64::from(hours) / 15.0 * 100.0);
    assert_eq!(percents, hours);
}

#[tokio::test]
async fn what_the_site_leaves_out_is_not_drawn_and_said() {
    let mut site = site().await;
    site.run("MASK 'spare' 'moved'").await.unwrap();
    let picture =
        query::heatmap(&site.lake, &site.question, &Selection::default(), &hourly()).await.unwrap();
    assert_eq!(grid(&picture).rows.len(), 4);
    let said = picture.notes.iter().any(|note| note.contains("spare (moved)"));
    assert!(said, "{:?}", picture.notes);
}

#[tokio::test]
async fn classes_that_the_site_renames_are_still_told_apart() {
    let mut site = site().await;
    site.run("CALL 'Priority-ResearcherOwned' 'Labs'").await.unwrap();
    let selection = Selection { class: Some("labs".into()), ..Selection::default() };
    let picture = query::heatmap(&site.lake, &site.question, &selection, &hourly()).await.unwrap();
    assert_eq!(shown(&picture)[0], "owned g1: busy prioritized, busy prioritized, busy backfill");
    assert_eq!(grid(&picture).rows.len(), 2);
}

#[tokio::test]
async fn users_are_shown_by_the_side_that_they_hold() {
    let site = site().await;
    let wish = Heatmap { coloring: Coloring::User, ..hourly() };
    let selection = Selection { gpus: vec!["g1".into(), "g3".into()], ..Selection::default() };
    let picture = query::heatmap(&site.lake, &site.question, &selection, &wish).await.unwrap();
    assert_eq!(shown(&picture), ["open g3: bob, idle, N/A", "owned g1: ann, ann, bob"]);
    let question = query::Question { anonymize: true, ..site.question.clone() };
    let picture = query::heatmap(&site.lake, &question, &selection, &wish).await.unwrap();
    assert!(shown(&picture).iter().all(|row| row.contains("user-") && !row.contains("bob")));
}

#[tokio::test]
async fn machines_stand_for_their_gpus() {
    let site = site().await;
    let wish = Heatmap { rows: Some(Rows::Machine), group_by: GroupBy::Machine, ..hourly() };
    let picture =
        query::heatmap(&site.lake, &site.question, &Selection::default(), &wish).await.unwrap();
    let grid = grid(&picture);
    let rows: Vec<(&str, Option<u32>)> =
        grid.rows.iter().map(|row| (row.label.as_str(), row.gpus)).collect();
    assert_eq!(rows, [("open", Some(2)), ("owned", Some(2)), ("spare", Some(1))]);
    let Cells::Parts(parts) = &grid.cells else { panic!("a machine's cells have parts") };
    // The first hour of `open`: half busy, half drained.
    assert_eq!(parts[..8], [0.0, 0.5, 0.0, 0.0, 0.0, 0.0, 0.5, 0.0]);
}

#[tokio::test]
async fn the_list_is_what_would_be_drawn() {
    let site = site().await;
    let selection = Selection { hosts: vec!["OPEN".into()], ..Selection::default() };
    let report = query::selected(&site.lake, &site.question, &selection).await.unwrap();
    assert_eq!(report.table.rows.len(), 2);
    let nobody = Selection { hosts: vec!["opem".into()], ..Selection::default() };
    let error = query::selected(&site.lake, &site.question, &nobody).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "there is no machine \"opem\" in this period; did you mean \"open\"?"
    );
}

#[tokio::test]
async fn a_period_of_which_nothing_is_known_is_an_error() {
    let mut site = site().await;
    site.question.period = period("2026-02-01T00:00:00Z", "2026-02-02T00:00:00Z", "UTC").unwrap();
    let error = query::heatmap(&site.lake, &site.question, &Selection::default(), &hourly())
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "nothing is known of any GPU from 2026-02-01 00:00 UTC to 2026-02-02 00:00 UTC"
    );
}

#[tokio::test]
async fn a_chart_counts_gpus_by_the_class_of_their_slots() {
    let site = site().await;
    let NamedChart::Gpus(chart) = query::chart_by_name("gpu-usage").unwrap() else {
        panic!("gpu-usage is drawn from the spans of GPUs")
    };
    let bucket = hourly().bucket;
    let picture =
        query::chart(&site.lake, &site.question, &Selection::default(), chart, bucket, By::Class)
            .await
            .unwrap();
    let Drawing::Series(series) = &picture.drawing else { panic!("usage is a series") };
    let shown: Vec<String> = series
        .stacked
        .iter()
        .chain(&series.lines)
        .map(|amounts| format!("{} {:?}", amounts.name, amounts.values))
        .collect();
    assert_eq!(
        shown,
        [
            "Priority-ResearcherOwned [Some(1.0), Some(1.0), Some(0.0)]",
            "Backfill-ResearcherOwned [Some(0.0), Some(0.0), Some(1.0)]",
            "Shared [Some(1.0), Some(0.0), Some(0.0)]",
            "capacity [Some(5.0), Some(5.0), Some(4.0)]",
        ]
    );
}

#[tokio::test]
async fn every_chart_can_be_asked_for() {
    let site = site().await;
    for chart in &query::CHARTS {
        let picture = query::chart(
            &site.lake,
            &site.question,
            &Selection::default(),
            chart,
            None,
            By::Device,
        )
        .await
        .unwrap();
        assert_eq!(picture.name, chart.name);
    }
    let refused = |name: &str| match query::chart_by_name(name) {
        Err(error) => error.to_string(),
        Ok(_) => panic!("{name} is a chart"),
    };
    assert!(refused("gpu-weak").contains("did you mean \"gpu-week\"?"));
    assert!(refused("rejects").contains("`plimsoll report rejects` shows its table"));
}
