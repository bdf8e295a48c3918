//! Documents become bytes: a page or a mail, text, Markdown.

mod html;
mod markdown;
mod text;

use report::Document;

use crate::Look;
use crate::ending::{Line, ending_of_document};

pub use html::{Attached, DocumentMail, document_mail};

/// Every format of a document, in the order in which help lists them.
pub static DOCUMENT_FORMATS: [DocumentFormat; 3] = [
    DocumentFormat { name: "text", extensions: &["txt", "text"], write: text::write },
    DocumentFormat { name: "markdown", extensions: &["md", "markdown"], write: markdown::write },
    DocumentFormat { name: "html", extensions: &["html", "htm"], write: html::write },
];

/// A way to write a document down.
pub struct DocumentFormat {
    /// The value of `--format`.
    pub name: &'static str,
    /// Endings of the names of its files, without the dot; the usual one first.
    pub extensions: &'static [&'static str],
    write: fn(&Document, &Look) -> String,
}

impl DocumentFormat {
    pub fn render(&self, document: &Document, look: &Look) -> String {
        (self.write)(document, look)
    }
}

/// What stands above all sections: the period, and what is missing of it.
fn head(document: &Document) -> Head {
    let gaps = document.gaps();
    Head {
        period: format!("{}, {}", document.period.named(), document.period.zone_name()),
        warning: (!gaps.is_empty()).then(|| {
            format!("This period is incomplete, and its numbers may change: {}.", gaps.join("; "))
        }),
    }
}

struct Head {
    period: String,
    warning: Option<String>,
}

/// What was observed of the period, a line a cluster.
fn coverage(document: &Document) -> Vec<String> {
    let lines = ending_of_document(document).into_iter();
    lines
        .map(|line| match line {
            Line::Plain(words) | Line::Note(words) => words,
            Line::Warning(words) => format!("Warning: {words}"),
        })
        .collect()
}

#[cfg(test)]
mod tests;
