//! Users by how much they used, and how well.

use report::{Axis, Dot, Drawing, Picture, Report, Scatter, Value};

/// Users of a report such as `usage-by-user` by two of its columns; nothing where there are no such
/// columns. Those of whom one is not known are left out, and counted in the notes.
pub fn scatter(report: &Report, across: &str, up: &str, title: &str) -> Option<Picture> {
    let columns = &report.table.columns;
    let place = |name: &str| columns.iter().position(|column| column.name == name);
    let (user, across, up) = (place("user")?, place(across)?, place(up)?);
    let mut dots = Vec::new();
    for row in &report.table.rows {
        if let (Value::Text(name), Value::Number(across), Value::Number(up)) =
            (&row[user], &row[across], &row[up])
            && *across > 0.0
        {
            dots.push(Dot { name: name.clone(), across: *across, up: *up });
        }
    }
    dots.sort_by(|one, other| {
        other.across.total_cmp(&one.across).then_with(|| one.name.cmp(&other.name))
    });
    let left_out = report.table.rows.len() - dots.len();
    let mut notes = report.notes.clone();
    if left_out > 0 {
        notes.insert(
            0,
            format!("{left_out} users of whom one of the two is not known are left out."),
        );
    }
    let axis =
        |place: usize| Axis { heading: columns[place].heading.clone(), unit: columns[place].unit };
    Some(Picture {
        name: format!("{}-scatter", report.name),
        title: title.to_owned(),
        subtitle: "A dot is a user".to_owned(),
        period: report.period.clone(),
        coverage: report.coverage.clone(),
        drawing: Drawing::Scatter(Scatter { across: axis(across), up: axis(up), dots }),
        notes,
    })
}
