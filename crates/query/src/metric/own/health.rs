//! How the sources fare, and those who are told of jobs.

use jiff::Timestamp;
use record::{Live, SourceHealth};
use report::Family;

use super::super::{is_up, seconds_of, seconds_since};

/// How the sources fare: how old is what is shown, and what did it cost?
pub(in super::super) fn health(lives: &[Live], now: Timestamp) -> Vec<Family> {
    let of_cluster: &[&str] = &["cluster"];
    let of_source: &[&str] = &["cluster", "source"];
    let mut up = Family::gauge(
        "plimsoll_up",
        "",
        of_cluster,
        "Whether all that was last asked of the cluster's scheduler was answered, and lately.",
    );
    let mut collected = Family::gauge(
        "plimsoll_collected_ratio",
        "ratio",
        of_cluster,
        "Share of the last seven days that was collected, each day when it was over.",
    );
    let mut cadence = Family::gauge(
        "plimsoll_cadence_seconds",
        "seconds",
        of_cluster,
        "Time from one look at the cluster to the next.",
    );
    let mut source_up = Family::gauge(
        "plimsoll_source_up",
        "",
        of_source,
        "Whether the command answered when it was last asked, and that was lately.",
    );
    let mut age = Family::gauge(
        "plimsoll_source_age_seconds",
        "seconds",
        of_source,
        "Time since the command was last asked with success: the age of what is shown.",
    );
    let mut success = Family::gauge(
        "plimsoll_source_success_timestamp_seconds",
        "seconds",
        of_source,
        "When the command was last asked with success.",
    );
    let mut duration = Family::gauge(
        "plimsoll_source_duration_seconds",
        "seconds",
        of_source,
        "How long the command took when it was last asked.",
    );
    let mut bytes = Family::gauge(
        "plimsoll_source_answer_bytes",
        "bytes",
        of_source,
        "Size of the command's last answer.",
    );
    let mut records = Family::gauge(
        "plimsoll_source_records",
        "",
        of_source,
        "Records in the command's last answer.",
    );
    let mut rejects = Family::gauge(
        "plimsoll_source_rejects",
        "",
        of_source,
        "Pieces of the command's last answer that could not be read and were set aside.",
    );
    let mut commands = Family::counter(
        "plimsoll_source_commands",
        "",
        of_source,
        "Commands that the scheduler was asked to answer: the load that collecting puts on it.",
    );
    let mut failures = Family::counter(
        "plimsoll_source_failures",
        "",
        of_source,
        "Commands that were not answered.",
    );
    let mut busy = Family::counter(
        "plimsoll_source_busy_seconds",
        "seconds",
        of_source,
        "Time that the commands took in all.",
    );
    let mut set_aside = Family::counter(
        "plimsoll_source_set_aside",
        "",
        of_source,
        "Pieces of answers that could not be read, in all.",
    );
    for live in lives {
        let cluster = live.cluster.as_str();
        let is_up = |source: &SourceHealth| is_up(live, source, now);
        let all_up = !live.sources.is_empty() && live.sources.iter().all(is_up);
        up.push(&[cluster], flag(all_up));
        collected.push(&[cluster], live.collected_ratio);
        cadence.push(&[cluster], live.cadence_seconds);
        for source in &live.sources {
            let labels = &[cluster, source.source.as_str()];
            source_up.push(labels, flag(is_up(source)));
            age.push(labels, source.success_time.map(|time| seconds_since(time, now)));
            success.push(labels, source.success_time.map(seconds_of));
            duration.push(labels, source.duration_seconds);
            bytes.push(labels, source.bytes.map(|bytes| bytes as f64));
            records.push(labels, source.records.map(|records| records as f64));
            rejects.push(labels, source.rejects.map(|rejects| rejects as f64));
            commands.push(labels, source.commands as f64);
            failures.push(labels, source.failures as f64);
            busy.push(labels, source.seconds);
            set_aside.push(labels, source.rejects_in_all as f64);
        }
    }
    let mut families = vec![
        up, collected, cadence, source_up, age, success, duration, bytes, records, rejects,
        commands, failures, busy, set_aside,
    ];
    families.extend(sinks(lives));
    families
}

/// How pushing jobs fares.
fn sinks(lives: &[Live]) -> [Family; 4] {
    let of_sink: &[&str] = &["cluster", "sink"];
    let mut up = Family::gauge(
        "plimsoll_push_up",
        "",
        of_sink,
        "Whether all that was due was taken when jobs were last pushed.",
    );
    let mut success = Family::gauge(
        "plimsoll_push_success_timestamp_seconds",
        "seconds",
        of_sink,
        "When all that was due was last taken.",
    );
    let mut documents = Family::counter(
        "plimsoll_push_documents",
        "",
        of_sink,
        "Attempts of jobs that were pushed and taken.",
    );
    let mut refused = Family::counter(
        "plimsoll_push_refused",
        "",
        of_sink,
        "Attempts of jobs that were pushed and will not be taken.",
    );
    for live in lives {
        for (name, health) in &live.sinks {
            let labels = &[live.cluster.as_str(), name];
            up.push(labels, flag(health.error.is_none()));
            success.push(labels, health.success_time.map(seconds_of));
            documents.push(labels, health.documents as f64);
            refused.push(labels, health.refused as f64);
        }
    }
    [up, success, documents, refused]
}

fn flag(yes: bool) -> f64 {
    f64::from(u8::from(yes))
}
