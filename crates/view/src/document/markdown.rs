//! A document in GitHub's Markdown, for an issue or a wiki. Its pictures are left out.

use report::Document;

use super::head;
use crate::Look;
use crate::ending::{Line, ending};
use crate::format::{escaped_markdown, markdown_table};
use crate::visible::visible;

pub(super) fn write(document: &Document, _look: &Look) -> String {
    let escaped = |text: &str| escaped_markdown(&visible(text));
    let head = head(document);
    let mut text = format!("# {}\n\n{}\n", escaped(&document.title), escaped(&head.period));
    if let Some(warning) = &head.warning {
        text += &format!("\n**Warning:** {}\n", escaped(warning));
    }
    for report in document.reports() {
        text += &format!("\n## {}\n\n{}", escaped(&report.title), markdown_table(report));
        for line in ending(report) {
            if let Line::Note(words) = line {
                text += &format!("\nNote: {}\n", escaped_markdown(&words));
            }
        }
    }
    text.push('\n');
    for line in super::coverage(document) {
        text += &format!("- {}\n", escaped_markdown(&line));
    }
    text
}
