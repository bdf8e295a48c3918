//! What can be chosen on a page: a form that needs no script, whose answer is an address.

use maud::{Markup, html};
use query::{AnalysisOption, Values, nearest};

use super::answer::Asked;
use super::{Page, Show, gpus, travel};
use crate::about::{About, PRESETS, Span};
use crate::trouble::Trouble;

/// Refuses what the page has no choice for, and words that a choice does not have.
pub(super) fn check(page: &Page, about: &About) -> Result<(), Trouble> {
    for (name, said) in &about.options {
        if !page.filters.contains(&name.as_str()) {
            let hint = match nearest(name, page.filters.iter().copied()) {
                Some(near) => format!("did you mean {near:?}?"),
                None => {
                    let known = ["cluster", "hours", "days", "from", "to"];
                    let names: Vec<&str> = known.into_iter().chain(page.filters.to_vec()).collect();
                    format!("it has {}", names.join(", "))
                }
            };
            return Err(Trouble::bad_request(format!("This page has no {name:?}; {hint}")));
        }
        let option = option(page, name);
        if let Some(Values::OneOf(words)) = option.map(|option| &option.values)
            && words.iter().all(|one| one.word != said)
        {
            let words: Vec<&str> = words.iter().map(|one| one.word).collect();
            let words = words.join(", ");
            return Err(Trouble::bad_request(format!(
                "There is no {name} {said:?}; there are {words}"
            )));
        }
    }
    Ok(())
}

/// What a filter of a page is, by what the page shows.
pub(super) fn option(page: &Page, name: &str) -> Option<&'static AnalysisOption> {
    page.sections.iter().find_map(|section| match section.show {
        Show::Report { name: report, .. } | Show::Drawn { name: report, .. } => {
            query::analysis(report).ok()?.options.iter().find(|option| option.name == name)
        }
        Show::Heatmap => gpus::OPTIONS.iter().find(|option| option.name == name),
        _ => None,
    })
}

/// The form, as it is filled in.
pub(super) fn form(asked: &Asked<'_>, clusters: &[String]) -> Markup {
    let about = &asked.about;
    let is_of_cluster = asked.page.path.contains("{cluster}");
    let span = about.span.as_ref().unwrap_or(&asked.page.span);
    let zone = &asked.question.period.zone;
    let moment =
        |time: jiff::Timestamp| time.to_zoned(zone.clone()).strftime("%Y-%m-%dT%H:%M").to_string();
    let is_between = matches!(span, Span::Between { .. });
    html! {
        form class="about" method="get" {
            @if !is_of_cluster && clusters.len() > 1 {
                label { "Cluster"
                    select name="cluster" {
                        option value="" { "all" }
                        @for cluster in clusters {
                            option value=(cluster) selected[about.clusters.contains(cluster)] {
                                (cluster)
                            }
                        }
                    }
                } "\n"
            }
            div class="spans" role="group" aria-label="Time" {
                span { "Time" }
                @for (name, preset) in PRESETS {
                    @let current = (*span == preset).then_some("true");
                    a href={ "?" (about.during(preset).query().trim_start_matches('?')) }
                        aria-current=[current] { (name) }
                }
                // There is nothing later than the newest data.
                @let last = asked.newest_data().map_or(asked.question.now, |newest| newest.time);
                @for step in travel::steps(&asked.question.period, last) {
                    @let query = about.during(step.span).query();
                    a href=(query) class="step" title=(step.name) {
                        span aria-hidden="true" { (step.sign) } span class="spoken" { (step.name) }
                    }
                }
            } "\n"
            label { "From"
                input type="datetime-local" name="from"
                    value=[is_between.then(|| moment(asked.question.period.start))];
            } "\n"
            label { "To"
                input type="datetime-local" name="to"
                    value=[is_between.then(|| moment(asked.question.period.end))];
            } "\n"
            @match span {
                Span::Hours(hours) => input type="hidden" name="hours" value=(hours);,
                Span::Days(days) => input type="hidden" name="days" value=(days);,
                Span::Between { .. } => {},
            }
            @for name in asked.page.filters.iter().filter(|name| **name != "page") {
                @if let Some(option) = option(asked.page, name) {
                    (field(option, about.options.get(*name).map(String::as_str))) "\n"
                }
            }
            button type="submit" { "Show" }
        } "\n"
    }
}

/// One choice.
fn field(option: &AnalysisOption, said: Option<&str>) -> Markup {
    let name = option.name;
    let words = capitalized(&name.replace('-', " ")).replace("Gpu", "GPU");
    html! {
        label title=(option.meaning) { (words)
            @match option.values {
                Values::OneOf(alternatives) => {
                    select name=(name) {
                        @for (index, one) in alternatives.iter().enumerate() {
                            // The first is what holds if nothing is said.
                            @let value = if index == 0 { "" } else { one.word };
                            option value=(value) selected[said == Some(one.word)] { (one.word) }
                        }
                    }
                },
                Values::Number(unsaid) => {
                    input type="number" min="1" name=(name) value=[said] placeholder=(unsaid);
                },
                Values::Duration(unsaid) => {
                    input name=(name) value=[said] placeholder=(unsaid);
                },
                Values::Moment => input type="datetime-local" name=(name) value=[said];,
                Values::Filter | Values::Checked(_) | Values::Subject | Values::Device => {
                    input name=(name) value=[said] spellcheck="false" autocapitalize="off"
                        required[matches!(option.values, Values::Subject)];
                },
            }
        }
    }
}

fn capitalized(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
