//! The pictures of GPUs on pages, with what `plimsoll heatmap` can be told.

use anyhow::Context;
use query::{
    Alternative, AnalysisOption, By, CHARTS, Coloring, GPU_HOST, GPU_HOST_PATTERN, GPU_MODEL, Gpus,
    GroupBy, Heatmap, Pattern, Refused, Rows, Selection, Values,
};
use report::Picture;

use super::answer::Asked;
use crate::trouble::Trouble;

/// What pictures of GPUs can be told.
pub(super) static OPTIONS: [AnalysisOption; 8] = [
    GPU_HOST,
    GPU_HOST_PATTERN,
    filter("gpu", "Only this GPU, by its id, what that begins with, or a pattern with *"),
    GPU_MODEL,
    filter("class", "Only this class of slots or of machines"),
    AnalysisOption {
        name: "color",
        meaning: "What colours of the heatmap stand for",
        values: Values::OneOf(&[word("state"), word("user"), word("utilization")]),
    },
    AnalysisOption {
        name: "row",
        meaning: "What a row of the heatmap is",
        values: Values::OneOf(&[word("any"), word("gpu"), word("machine"), word("device")]),
    },
    AnalysisOption {
        name: "group-by",
        meaning: "What neighbouring rows share",
        values: Values::OneOf(&[word("machine"), word("device")]),
    },
];

const fn filter(name: &'static str, meaning: &'static str) -> AnalysisOption {
    AnalysisOption { name, meaning, values: Values::Filter }
}

const fn word(word: &'static str) -> Alternative {
    Alternative { word, replaces: &[], heading: "" }
}

/// What the GPUs of a page did, or why there is nothing to draw.
pub(super) async fn read(asked: &Asked<'_>) -> Result<Result<Gpus, String>, Trouble> {
    let selection = selection(asked)?;
    match Gpus::read(&asked.app.site.lake, &asked.question, &selection).await {
        Ok(gpus) => Ok(Ok(gpus)),
        Err(error) => match error.downcast_ref::<Refused>() {
            Some(_) if asked.page.is_of_one() => {
                Ok(Err("No GPU of it was seen in this time.".to_owned()))
            }
            Some(refused) => Ok(Err(refused.to_string())),
            None => Err(error.into()),
        },
    }
}

pub(super) fn heatmap(asked: &Asked<'_>, gpus: &Gpus) -> Result<Picture, Trouble> {
    let said = asked.said();
    let word = |name: &str| said.get(name).map(String::as_str);
    Ok(gpus.heatmap(&Heatmap {
        // Less than half as many as the picture has units of width for: each makes the page heavier, and
        // who wants to see more zooms in.
        most_columns: 300,
        coloring: match word("color") {
            Some("user") => Coloring::User,
            Some("utilization") => Coloring::Utilization,
            _ => Coloring::State,
        },
        rows: match word("row") {
            Some("gpu") => Some(Rows::Gpu),
            Some("machine") => Some(Rows::Machine),
            Some("device") => Some(Rows::Device),
            _ => None,
        },
        group_by: match word("group-by") {
            Some("device") => GroupBy::Device,
            _ => GroupBy::Machine,
        },
        ..Heatmap::default()
    })?)
}

pub(super) fn chart(gpus: &Gpus, name: &str) -> Result<Picture, Trouble> {
    let chart = CHARTS.iter().find(|chart| chart.name == name).context("no such chart")?;
    Ok(gpus.chart(chart, None, By::Class)?)
}

/// Which GPUs; those of the node that a page is about.
fn selection(asked: &Asked<'_>) -> Result<Selection, Trouble> {
    let said = asked.said();
    let list = |name: &str| said.get(name).cloned().into_iter().collect::<Vec<_>>();
    let host_pattern = match said.get("host-pattern") {
        Some(expression) => Some(
            Pattern::new(&format!("/{expression}/"))
                .map_err(|wrong| Trouble::bad_request(format!("host-pattern {wrong}")))?,
        ),
        None => None,
    };
    let mut hosts = list("host");
    hosts.extend(list("node"));
    Ok(Selection {
        gpus: list("gpu"),
        hosts,
        host_pattern,
        model: said.get("model").cloned(),
        class: said.get("class").cloned(),
    })
}
