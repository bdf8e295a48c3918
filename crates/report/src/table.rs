//! Rows and columns with units.

use jiff::Timestamp;
use jiff::civil::Date;

use crate::Unit;

/// Rows and columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    pub columns: Vec<Column>,
    pub rows: Vec<Vec<Value>>,
}

/// One column: its name for programs, its heading for people, its unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    pub name: String,
    pub heading: String,
    pub unit: Unit,
}

/// One cell.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Not observed. It is never zero, and prints as a dash.
    Unknown,
    Text(String),
    Integer(i64),
    Number(f64),
    Boolean(bool),
    Time(Timestamp),
    Date(Date),
}

impl Value {
    /// The number that it is, if it is one.
    pub fn number(&self) -> Option<f64> {
        match self {
            Value::Integer(number) => Some(*number as f64),
            Value::Number(number) => Some(*number),
            _ => None,
        }
    }
}
