//! `[[push]]`: where attempts of jobs are pushed to.

use std::collections::HashSet;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::super::search_server::{Place, search_server};
use super::super::{Sink, SinkTarget, is_cluster_name};
use super::{Problems, string, unknown_keys, wrong_type};

const PLACE: Place = Place {
    key: "push",
    other_keys: &["name"],
    example_index: "plimsoll-jobs",
    // Documents are put into one index.
    pattern: "",
};

/// The sinks, as far as they could be read; the rest is a problem.
pub(super) fn sinks(value: &Spanned<DeValue>, problems: &mut Problems) -> Vec<Sink> {
    let DeValue::Array(elements) = value.get_ref() else {
        wrong_type("push", "an array of tables ([[push]])", value, problems);
        return Vec::new();
    };
    let mut names = HashSet::new();
    let mut sinks = Vec::new();
    for element in elements {
        let DeValue::Table(table) = element.get_ref() else {
            wrong_type("push", "a table", element, problems);
            continue;
        };
        let Some(sink) = sink(table, element.span(), problems) else { continue };
        if !names.insert(sink.name.clone()) {
            let words = format!("push.name: {:?} is already the name of another", sink.name);
            problems.add(element.span(), words);
        }
        sinks.push(sink);
    }
    sinks
}

fn sink(table: &DeTable, span: Range<usize>, problems: &mut Problems) -> Option<Sink> {
    let name = name(table, span.clone(), problems);
    let target = match (table.get("file"), table.get("url")) {
        (Some(file), None) => {
            unknown_keys(table, &["name", "file"], problems);
            let file = string("push.file", "a string", file, problems)?;
            if file == "-" { SinkTarget::Output } else { SinkTarget::File(file.into()) }
        }
        (None, Some(_)) => SinkTarget::Server(search_server(table, span, &PLACE, problems)?),
        (Some(file), Some(_)) => {
            problems.add(file.span(), "push.file: url stands here, too: choose one");
            return None;
        }
        (None, None) => {
            let words = "push: it has no target: write file = \"jobs.ndjson\", or the url and index \
                         of an Elasticsearch or OpenSearch";
            problems.add(span, words);
            return None;
        }
    };
    Some(Sink { name: name?, target })
}

fn name(table: &DeTable, span: Range<usize>, problems: &mut Problems) -> Option<String> {
    let Some(value) = table.get("name") else {
        problems.add(span, "push.name: missing: write name = \"search\"");
        return None;
    };
    let name = string("push.name", "a string", value, problems)?;
    if !is_cluster_name(name) {
        let words = format!("push.name: {name:?}: use letters, digits, '.', '_' and '-'");
        problems.add(value.span(), words);
    }
    Some(name.to_owned())
}
