//! The web pages: the same numbers as on the command line, and clear refusals.

use std::path::Path;

use crate::demo::DEMO;
use crate::program::plimsoll;
use crate::server::Server;

/// A server of the demo.
fn serve(folder: &Path) -> Server {
    Server::start(folder, &["--data-dir", "plimsoll-demo", "serve"])
}

#[test]
fn pages_and_formats_are_served_and_mistakes_are_told() {
    let folder = DEMO.folder.path();
    let server = serve(folder);
    server.check("/", "200", "href=\"/report/usage-by-user\"");
    server.check("/status", "200", "gpu_span");
    server.check("/report/daily?days=9&cluster=alder", "200", "<table");
    server.check("/report/usage-by-usr", "404", "did you mean");
    server.check("/report/daily.pdf", "404", "there is no format");
    server.check("/report/daily?cluster=%3Cscript%3E", "404", "&lt;script&gt;");
    let (head, _) = server.get("/report/daily?dayz=9");
    assert!(head.starts_with("HTTP/1.1 400 "), "{head}");
}

/// What the demo's last moment showed is long ago, and is said to be.
#[test]
fn metrics_are_served_for_whoever_asks_as_they_ask() {
    let server = serve(DEMO.folder.path());
    server.check("/metrics", "200", "# TYPE plimsoll_cpus gauge\nplimsoll_cpus{cluster=\"alder\"");
    let (head, body) = server.get("/metrics");
    assert!(head.contains("content-type: text/plain; version=0.0.4"), "{head}");
    assert!(!body.contains("# EOF"));
    let stale = body.lines().filter(|line| line.starts_with("plimsoll_up{"));
    assert!(stale.clone().count() == 2 && stale.clone().all(|line| line.ends_with(" 0")));
    server.check("/metrics/vpenso", "200", "slurm_nodes_idle ");
    server.check("/metrics/vpenso?cluster=none", "404", "nothing was seen of a cluster");
    server.check("/metrics/prometheus", "404", "no metrics in the names of");
    server.check("/metrics/rivosinc?cluster=alder", "200", "slurm_node_count_per_state{");
    server.check("/metrics/origin", "200", "slurm_gpus_alloc{type=");
}

/// From far enough back to reach the demo's days from whatever day this is.
#[test]
fn the_web_says_what_the_command_line_says() {
    let folder = DEMO.folder.path();
    let server = serve(folder);
    let (_, served) = server.get("/report/usage-by-user.csv?days=30000");
    let said = plimsoll(
        folder,
        &[
            "--data-dir",
            "plimsoll-demo",
            "report",
            "usage-by-user",
            "--days",
            "30000",
            "--format",
            "csv",
        ],
    );
    assert_eq!(served, said.stdout);
    assert!(served.lines().count() > 20);
}
