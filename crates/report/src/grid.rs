//! Rows over columns of cells, such as GPUs over time.

use jiff::Timestamp;

use crate::{Category, Unit};

/// Rows over columns, each cell in one of several categories, or with a number.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    pub columns: Columns,
    pub rows: Vec<GridRow>,
    /// What the legend lists, in its order; cells name them by their place. Blank where cells are
    /// numbers.
    pub categories: Vec<Category>,
    pub cells: Cells,
}

/// What stands along the bottom.
#[derive(Clone, Debug, PartialEq)]
pub enum Columns {
    /// Where buckets of time begin, and where the last one ends: one moment more than there are
    /// columns.
    Times(Vec<Timestamp>),
    Labels(Vec<String>),
}

/// One row: a GPU, or several that are shown as one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GridRow {
    /// What stands once in the margin beside neighbours that share it: a machine or a device.
    pub group: String,
    /// What stands beside the row alone.
    pub label: String,
    pub cluster: Option<String>,
    pub machine: Option<String>,
    pub gpu_id: Option<String>,
    pub device: Option<String>,
    /// Whose it is, as the site names its classes.
    pub class: Option<String>,
    /// How many GPUs it shows; unknown where it shows no GPUs.
    pub gpus: Option<u32>,
}

/// The cells, row after row, each from the first column to the last.
#[derive(Clone, Debug, PartialEq)]
pub enum Cells {
    /// The category that held longest.
    Longest(Vec<Cell>),
    /// Every category's part of the cell, 0 to 1, in the order of the categories: for rows of
    /// several GPUs, where the category of most would hide the others.
    Parts(Vec<f32>),
    /// A number; unknown where nothing was observed.
    Numbers { values: Vec<Option<f64>>, unit: Unit },
}

/// A cell with one category.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// Its place in the grid's list.
    pub category: u16,
    /// The part of the cell that it held, 0 to 1.
    pub share: f32,
}

impl Columns {
    pub fn len(&self) -> usize {
        match self {
            Columns::Times(edges) => edges.len().saturating_sub(1),
            Columns::Labels(labels) => labels.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Grid {
    /// Stretches of neighbouring columns in which a row stays in one category, as first column,
    /// column after the last, and category. Only grids of [`Cells::Longest`] have them.
    pub fn runs(&self, row: usize) -> Vec<Run> {
        let (Cells::Longest(cells), columns) = (&self.cells, self.columns.len()) else {
            return Vec::new();
        };
        let mut runs: Vec<Run> = Vec::new();
        for (column, cell) in cells[row * columns..][..columns].iter().enumerate() {
            match runs.last_mut() {
                Some(run) if run.category == cell.category => run.end = column + 1,
                _ => runs.push(Run { start: column, end: column + 1, category: cell.category }),
            }
        }
        runs
    }
}

/// Neighbouring cells of one row in one category.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Its first column.
    pub start: usize,
    /// The column after its last.
    pub end: usize,
    pub category: u16,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_cells_of_one_category_are_one_run() {
        let cell = |category| Cell { category, share: 1.0 };
        let grid = Grid {
            columns: Columns::Labels(["a", "b", "c"].map(str::to_owned).into()),
            rows: vec![GridRow::default(); 2],
            categories: Vec::new(),
            cells: Cells::Longest([0, 0, 1, 1, 0, 1].map(cell).into()),
        };
        let run = |start, end, category| Run { start, end, category };
        assert_eq!(grid.runs(0), [run(0, 2, 0), run(2, 3, 1)]);
        assert_eq!(grid.runs(1), [run(0, 1, 1), run(1, 2, 0), run(2, 3, 1)]);
    }
}
