//! Pages for people.

use maud::{DOCTYPE, Markup, PreEscaped, html};
use query::ANALYSES;
use report::Report;

/// The list of what can be asked.
pub(crate) fn index(clusters: &[String]) -> String {
    page(
        "Plimsoll",
        &html! {
            h1 { "Plimsoll" }
            p { "Who used what, how well." }
            ul {
                @for analysis in ANALYSES {
                    li {
                        a href={ "/report/" (analysis.name) } { (analysis.question) }
                        " (" a href={ "/report/" (analysis.name) ".json" } { "JSON" } ", "
                        a href={ "/report/" (analysis.name) ".csv" } { "CSV" } ")"
                        @for cluster in clusters {
                            " · " a href={ "/report/" (analysis.name) "?cluster=" (cluster) } { (cluster) }
                        }
                    }
                }
                li { a href="/status" { "What is kept, and how fresh is it?" } }
            }
            p { "Add " code { "?days=30" } " to an address for another time." }
        },
    )
}

/// Reports one below the other.
pub(crate) fn reports(title: &str, reports: &[Report]) -> String {
    page(
        title,
        &html! {
            p { a href="/" { "All reports" } }
            @for report in reports {
                // Escaped by the view that made it.
                (PreEscaped(view::fragment(report)))
            }
        },
    )
}

/// A page that says one thing.
pub(crate) fn message(title: &str, message: &str) -> String {
    page(
        title,
        &html! {
            h1 { (title) }
            p { (message) }
            p { a href="/" { "All reports" } }
        },
    )
}

fn page(title: &str, body: &Markup) -> String {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(view::style())) }
            }
            body { (body) }
        }
    }
    .into_string()
}
