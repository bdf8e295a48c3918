//! Characters that the font of our PNGs lacks.
//!
//! A font draws an empty box for such a character, so that two names look alike. Here they are spelled
//! out as `less` does, `<U+30CD>`: long, but readable and different for different names.

use std::collections::BTreeSet;

use report::{Columns, Drawing, Picture};
use resvg::usvg::{Group, Node, Options, Tree};

use crate::visible::visible_character;

/// The characters of a drawing that are drawn as empty boxes.
pub(super) fn missing_characters(tree: &Tree, options: &Options<'_>) -> BTreeSet<char> {
    let mut boxed = BTreeSet::new();
    collect_boxed(tree.root(), &mut boxed);
    // A box may stand for a letter with an accent, of which only the accent is missing.
    boxed.retain(|&character| !is_drawable(character, options));
    boxed
}

fn collect_boxed(group: &Group, boxed: &mut BTreeSet<char>) {
    for node in group.children() {
        match node {
            Node::Group(group) => collect_boxed(group, boxed),
            Node::Text(text) => {
                let glyphs = text.layouted().iter().flat_map(|span| &span.positioned_glyphs);
                // Glyph 0 is the box, in every font.
                let missing = glyphs.filter(|glyph| glyph.id.0 == 0);
                boxed.extend(missing.flat_map(|glyph| glyph.text.chars()));
            }
            Node::Path(_) | Node::Image(_) => {}
        }
    }
}

fn is_drawable(character: char, options: &Options<'_>) -> bool {
    if matches!(character, ' '..='~') {
        return true;
    }
    let drawing = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"9\" height=\"9\">\
         <text>{character}</text></svg>"
    );
    let mut boxed = BTreeSet::new();
    if let Ok(tree) = Tree::from_str(&drawing, options) {
        collect_boxed(tree.root(), &mut boxed);
    }
    boxed.is_empty()
}

/// The picture, with the missing characters of all names spelled out.
pub(super) fn spelled_out(picture: &Picture, missing: &BTreeSet<char>) -> Picture {
    let mut picture = picture.clone();
    for text in drawn_texts(&mut picture) {
        if text.chars().any(|character| missing.contains(&visible_character(character))) {
            *text = text.chars().map(|character| spelled(character, missing)).collect();
        }
    }
    picture
}

fn spelled(character: char, missing: &BTreeSet<char>) -> String {
    if missing.contains(&visible_character(character)) {
        format!("<U+{:04X}>", u32::from(character))
    } else {
        character.to_string()
    }
}

/// All that a drawing writes out.
fn drawn_texts(picture: &mut Picture) -> Vec<&mut String> {
    let mut texts = vec![&mut picture.title, &mut picture.subtitle];
    texts.extend(&mut picture.notes);
    texts.extend(picture.coverage.clusters.iter_mut().map(|cluster| &mut cluster.cluster));
    let skipped = picture.coverage.skipped.iter_mut();
    texts.extend(skipped.flat_map(|file| [&mut file.path, &mut file.reason]));
    match &mut picture.drawing {
        Drawing::Grid(grid) => {
            if let Columns::Labels(labels) = &mut grid.columns {
                texts.extend(labels);
            }
            texts.extend(grid.rows.iter_mut().flat_map(|row| [&mut row.group, &mut row.label]));
            texts.extend(grid.categories.iter_mut().map(|category| &mut category.name));
        }
        Drawing::Series(series) => {
            texts.push(&mut series.heading);
            let amounts = series.stacked.iter_mut().chain(&mut series.lines);
            texts.extend(amounts.map(|amounts| &mut amounts.name));
        }
        Drawing::Histogram(histogram) => {
            texts.extend([&mut histogram.heading, &mut histogram.count_heading]);
            texts.extend(histogram.bins.iter_mut().map(|bin| &mut bin.label));
        }
        Drawing::Bars(bars) => {
            texts.extend([&mut bars.label_heading, &mut bars.heading]);
            texts.extend(bars.parts.iter_mut().map(|part| &mut part.name));
            texts.extend(bars.groups.iter_mut().map(|group| &mut group.label));
        }
        Drawing::Curves(curves) => {
            texts.extend([&mut curves.at_heading, &mut curves.heading]);
            texts.extend(curves.curves.iter_mut().map(|curve| &mut curve.name));
        }
        Drawing::Scatter(scatter) => {
            texts.extend([&mut scatter.across.heading, &mut scatter.up.heading]);
            texts.extend(scatter.dots.iter_mut().map(|dot| &mut dot.name));
        }
    }
    texts
}
