//! A step for each row of a table, a curve for each group of them.

use anyhow::Result;
use report::{Band, Curve, Curves, Drawing, Kind, Point};

use super::{Answer, Shown, in_a_sentence, largest};

/// Which columns of a table are curves.
pub struct DrawnCurves {
    /// What names a curve.
    pub group: &'static str,
    /// The time since the beginning, in seconds.
    pub at: &'static str,
    pub value: &'static str,
    /// The lower and the upper end of the confidence band.
    pub band: [&'static str; 2],
    /// How many a curve rests on: where there are too many, those with the most are drawn.
    pub weight: &'static str,
    /// Options with which the analysis lists every step.
    pub told: &'static [(&'static str, &'static str)],
}

/// More curves than this are not told apart, with their bands.
pub(super) const MOST_CURVES: usize = 8;

pub(super) fn draw(drawn: &DrawnCurves, answer: &Answer<'_>) -> Result<Shown> {
    let (group, at, value) =
        (answer.place(drawn.group)?, answer.place(drawn.at)?, answer.place(drawn.value)?);
    let (lower, upper) = (answer.place(drawn.band[0])?, answer.place(drawn.band[1])?);
    let weight = answer.place(drawn.weight)?;

    let mut all: Vec<(f64, String, Vec<Point>)> = Vec::new();
    for rows in answer.table.rows.chunk_by(|one, other| one[group] == other[group]) {
        let points = rows.iter().filter_map(|row| {
            let ends = row[lower].number().zip(row[upper].number());
            Some(Point {
                at_seconds: row[at].number()?,
                value: row[value].number()?,
                band: ends.map(|(lower, upper)| Band { lower, upper }),
            })
        });
        let weights = rows.iter().filter_map(|row| row[weight].number());
        all.push((weights.fold(0.0, f64::max), answer.label(&rows[0], group), points.collect()));
    }

    let mut notes = vec![
        "Kaplan-Meier curves fall at each eviction. The areas are their 95 % confidence bands."
            .to_owned(),
    ];
    let of = all.len();
    if of > MOST_CURVES {
        let weights: Vec<f64> = all.iter().map(|(weight, ..)| *weight).collect();
        let (heaviest, _) = largest(&weights, MOST_CURVES);
        all = heaviest.into_iter().map(|place| all[place].clone()).collect();
        notes.push(format!(
            "The {MOST_CURVES} of {of} curves with the most {}; the report has each.",
            in_a_sentence(answer.heading(weight))
        ));
    }
    let curves = all.into_iter().zip(0u8..).map(|((_, name, points), place)| Curve {
        name,
        kind: Kind::Ranked(place),
        points,
    });
    let drawing = Drawing::Curves(Curves {
        at_heading: answer.heading(at).to_owned(),
        heading: answer.heading(value).to_owned(),
        unit: answer.unit(value),
        curves: curves.collect(),
    });
    let by = answer.word_in_a_sentence(drawn.group, group);
    let subtitle = format!("{}, by {by}", answer.heading(value));
    Ok(Shown { drawing, subtitle, notes })
}
