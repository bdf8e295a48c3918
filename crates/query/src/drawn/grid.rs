//! A cell for each row of a table: what it is from, and what to.

use anyhow::Result;
use report::{Cells, Columns, Drawing, Grid, GridRow};

use super::{Answer, Shown, in_a_sentence};

/// Which columns of a table are a grid.
pub struct DrawnGrid {
    /// What neighbouring rows share.
    pub group: &'static str,
    pub row: &'static str,
    pub column: &'static str,
    /// What the columns are, in their order; what the table has beside comes after them.
    pub order: &'static [&'static str],
    /// The number in a cell. What a table of counts does not have did not occur: it is zero.
    pub value: &'static str,
}

pub(super) fn draw(drawn: &DrawnGrid, answer: &Answer<'_>) -> Result<Shown> {
    let [group, row, column, value] =
        [drawn.group, drawn.row, drawn.column, drawn.value].map(|name| answer.place(name));
    let (group, row, column, value) = (group?, row?, column?, value?);

    let mut columns: Vec<String> = drawn.order.iter().map(|&word| word.to_owned()).collect();
    let mut rows: Vec<GridRow> = Vec::new();
    let mut cells: Vec<(usize, usize, Option<f64>)> = Vec::new();
    for cell in &answer.table.rows {
        let about = GridRow {
            group: answer.label(cell, group),
            label: answer.label(cell, row),
            ..GridRow::default()
        };
        let (at_row, at_column) =
            (place_of(&mut rows, about), place_of(&mut columns, answer.label(cell, column)));
        cells.push((at_row, at_column, cell[value].number()));
    }
    let mut values = vec![Some(0.0); rows.len() * columns.len()];
    for (row, column, value) in cells {
        values[row * columns.len() + column] = value;
    }
    let subtitle = format!(
        "{}, by {}; rows: {}, columns: {}",
        answer.heading(value),
        answer.word_in_a_sentence(drawn.group, group),
        in_a_sentence(answer.heading(row)),
        in_a_sentence(answer.heading(column)),
    );
    let cells = Cells::Numbers { values, unit: answer.unit(value) };
    let grid = Grid { columns: Columns::Labels(columns), rows, categories: Vec::new(), cells };
    Ok(Shown { drawing: Drawing::Grid(grid), subtitle, notes: Vec::new() })
}

/// The place of something in a list, at whose end it is put if it is not there.
fn place_of<T: PartialEq>(list: &mut Vec<T>, item: T) -> usize {
    list.iter().position(|known| *known == item).unwrap_or_else(|| {
        list.push(item);
        list.len() - 1
    })
}
