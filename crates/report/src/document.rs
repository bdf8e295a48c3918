//! Reports and pictures that are read together, from the first to the last.

use crate::{Coverage, Period, Picture, Report};

/// What somebody receives: sections one below the other, all about one period.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    pub title: String,
    pub period: Period,
    /// What the lake holds of the period.
    pub coverage: Coverage,
    /// The shares that a reader wants to know before anything else, as they are shown.
    pub shares: Vec<String>,
    pub sections: Vec<Section>,
}

/// One part of a document, under its own title.
#[derive(Clone, Debug, PartialEq)]
pub enum Section {
    Report(Report),
    Picture(Picture),
}

impl Document {
    /// What it is about, for the subject of a mail: the title, the period, the shares.
    pub fn subject(&self) -> String {
        let shares = match &self.shares[..] {
            [] => String::new(),
            shares => format!(" ({})", shares.join(" | ")),
        };
        let incomplete = if self.gaps().is_empty() { "" } else { " [incomplete]" };
        format!("{} {}{shares}{incomplete}", self.title, self.period.named())
    }

    /// What is missing of the period, a line each; nothing if it is whole.
    pub fn gaps(&self) -> Vec<String> {
        self.coverage.gaps()
    }

    /// The reports among the sections.
    pub fn reports(&self) -> impl Iterator<Item = &Report> {
        self.sections.iter().filter_map(|section| match section {
            Section::Report(report) => Some(report),
            Section::Picture(_) => None,
        })
    }
}
