//! Refuses a page that shows nothing because it is about a name that nothing has.

use super::Show;
use super::answer::{Asked, Content, Part};
use super::gpus;
use crate::trouble::Trouble;
use crate::unknown_name;

/// Refuses the first name that is unknown, of those in the page's path and of its filters.
pub(super) async fn refuse_unknown(asked: &Asked<'_>, parts: &[Part]) -> Result<(), Trouble> {
    for (option, name) in asked.said() {
        if !shows_any(asked, parts, &option) {
            unknown_name::refuse(asked.app, &asked.question, &option, &name).await?;
        }
    }
    Ok(())
}

/// Whether anything on the page that is chosen by an option has rows, or nothing is chosen by it.
fn shows_any(asked: &Asked<'_>, parts: &[Part], option: &str) -> bool {
    let chooses_gpus = gpus::OPTIONS.iter().any(|one| one.name == option && one.is_filter());
    let mut is_chosen = chooses_gpus && asked.page.sections.iter().any(|one| is_of_gpus(one.show));
    for part in parts {
        let has_rows = match &part.content {
            Content::Report(report) => !report.table.rows.is_empty(),
            Content::Picture(_) => is_of_gpus(part.section.show),
            _ => false,
        };
        match asked.ask(&part.section) {
            Some(ask) if ask.options.contains_key(option) => {
                is_chosen = true;
                if has_rows {
                    return true;
                }
            }
            Some(_) => {}
            // Pictures of GPUs are chosen by the page's filters.
            None if is_of_gpus(part.section.show) && !chooses_gpus => {}
            // Tables of the present have no options of their own.
            None if has_rows => return true,
            None => {}
        }
    }
    !is_chosen
}

fn is_of_gpus(show: Show) -> bool {
    matches!(show, Show::Heatmap | Show::Chart(_))
}
