//! A document for a terminal, or for who reads mail as text. Its pictures are left out.

use report::Document;

use super::head;
use crate::Look;
use crate::ending::{Line, ending};
use crate::format::write_text;
use crate::visible::visible;

pub(super) fn write(document: &Document, look: &Look) -> String {
    let head = head(document);
    let mut text = format!("{}\n{}\n", visible(&document.title), visible(&head.period));
    if let Some(warning) = &head.warning {
        text += &format!("warning: {}\n", visible(warning));
    }
    for report in document.reports() {
        let ending = ending(report);
        let notes: Vec<&Line> =
            ending.iter().filter(|line| matches!(line, Line::Note(_))).collect();
        text.push('\n');
        text += &write_text(report, &notes, look);
    }
    for line in super::coverage(document) {
        text += &format!("\n{line}");
    }
    text.push('\n');
    text
}
