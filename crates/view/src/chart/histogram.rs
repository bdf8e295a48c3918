//! How often amounts occur, a bar for each range of them.

use report::{Amount, Bars, Bin, Group, Histogram, Kind, Layout, Part, Picture};

use super::{Style, columns};

pub(super) fn draw(picture: &Picture, histogram: &Histogram, style: &Style<'_>) -> String {
    let group = |bin: &Bin| Group {
        label: bin.label.clone(),
        amounts: vec![Amount { value: Some(bin.count), band: None }],
    };
    let bars = Bars {
        label_heading: histogram.heading.clone(),
        heading: histogram.count_heading.clone(),
        unit: histogram.count_unit,
        is_sequence: true,
        layout: Layout::Stacked,
        parts: vec![Part { name: histogram.count_heading.clone(), kind: Kind::Ranked(0) }],
        groups: histogram.bins.iter().map(group).collect(),
    };
    columns::draw(picture, &bars, style)
}
