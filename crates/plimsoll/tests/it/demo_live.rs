//! `plimsoll demo --serve`: pages of a simulated site that goes on.

use std::path::Path;

use jiff::Timestamp;

use crate::server::Server;

fn start(folder: &Path) -> Server {
    Server::start(folder, &["demo", "--days", "1", "--collect", "20s", "--serve"])
}

/// When each cluster was last looked at, as the API says.
fn last_looks(server: &Server) -> Vec<Timestamp> {
    let (_, body) = server.get("/api/v1/now/clusters");
    let answer: serde_json::Value = serde_json::from_str(&body).unwrap();
    let rows = answer["report"]["rows"].as_array().unwrap();
    rows.iter().map(|row| row["seen_time"].as_str().unwrap().parse().unwrap()).collect()
}

#[test]
fn the_site_lives_on_while_its_pages_are_shown_and_goes_on_the_next_time() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path());
    assert!(server.said_before.starts_with("simulating 1 days"), "{}", server.said_before);
    server.check("/queue", "200", "alder");
    let before = last_looks(&server);
    assert_eq!(before.len(), 2);
    while last_looks(&server).iter().zip(&before).any(|(now, before)| now <= before) {}
    drop(server);

    let config = folder.path().join("plimsoll-demo/plimsoll.toml");
    let before = std::fs::read(&config).unwrap();
    let server = start(folder.path());
    assert_eq!(server.said_before, "the demo in plimsoll-demo goes on\n");
    server.check("/nodes", "200", "alder");
    let after = std::fs::read(&config).unwrap();
    assert_eq!(before, after);
}
