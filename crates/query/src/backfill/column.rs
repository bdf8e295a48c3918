//! The columns of the tables of backfill, each made only where a statement asks for it.

use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, BooleanArray, Int64Array, StringViewArray, TimestampMicrosecondArray,
};
use datafusion::arrow::datatypes::{DataType, Field, TimeUnit};

use super::attempt::Attempt;
use super::history::{Gpu, GpuPhase};
use crate::names::{self, Name};

/// A column, by the rows that it is made of.
pub(super) struct Column<Row> {
    name: &'static str,
    values: Values<Row>,
}

/// A value of a row, with the GPUs that rows may name by their places.
type Of<Row, Value> = fn(&[Gpu], &Row) -> Value;

/// How a column is made of rows.
enum Values<Row> {
    Text(Of<Row, Name>),
    Word(Of<Row, Option<&'static str>>),
    /// In microseconds.
    Moment(Of<Row, Option<i64>>),
    Number(Of<Row, Option<i64>>),
    Truth(Of<Row, bool>),
}

impl<Row> Column<Row> {
    pub(super) fn field(&self) -> Field {
        let data_type = match self.values {
            Values::Text(_) | Values::Word(_) => DataType::Utf8View,
            Values::Moment(_) => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            Values::Number(_) => DataType::Int64,
            Values::Truth(_) => DataType::Boolean,
        };
        Field::new(self.name, data_type, !matches!(self.values, Values::Truth(_)))
    }

    /// How much memory a row of it takes; texts share their bytes.
    pub(super) fn bytes(&self) -> usize {
        match self.values {
            Values::Text(_) | Values::Word(_) => size_of::<u128>(),
            Values::Moment(_) | Values::Number(_) => size_of::<i64>(),
            Values::Truth(_) => 1,
        }
    }

    /// Its values, with the array of all texts.
    pub(super) fn array(&self, texts: &StringViewArray, gpus: &[Gpu], rows: &[Row]) -> ArrayRef {
        match self.values {
            Values::Text(of) => names::column(texts, rows.iter().map(|row| of(gpus, row))),
            Values::Word(of) => {
                Arc::new(rows.iter().map(|row| of(gpus, row)).collect::<StringViewArray>())
            }
            Values::Moment(of) => {
                let moments = rows.iter().map(|row| of(gpus, row));
                let moments: TimestampMicrosecondArray = moments.collect();
                Arc::new(moments.with_timezone("UTC"))
            }
            Values::Number(of) => {
                Arc::new(rows.iter().map(|row| of(gpus, row)).collect::<Int64Array>())
            }
            Values::Truth(of) => {
                Arc::new(rows.iter().map(|row| Some(of(gpus, row))).collect::<BooleanArray>())
            }
        }
    }
}

/// What is known of a GPU, or of those of an attempt.
macro_rules! of_places {
    ($of:expr; $($field:ident)*) => {
        [$(text(stringify!($field), |gpus, row| $of(gpus, row).$field)),*]
    };
    ($of:expr) => {
        of_places!(
            $of; cluster machine device_name device family tier owner_class backfill_class
        )
    };
}

pub(super) fn of_phases() -> Vec<Column<GpuPhase>> {
    let mut columns: Vec<Column<GpuPhase>> =
        of_places!(|gpus: &[Gpu], row: &GpuPhase| gpus[row.gpu].place).into();
    columns.extend([
        text("gpu_id", |gpus, row: &GpuPhase| gpus[row.gpu].gpu_id),
        word("situation", |_, row| Some(row.phase.situation.name())),
        text("user", |_, row| row.phase.who.user),
        text("job_id", |_, row| row.phase.who.job),
        moment("start_time", |_, row| Some(row.phase.start)),
        moment("end_time", |_, row| Some(row.phase.end)),
        word("before", |_, row| Some(row.phase.before.name())),
        word("after", |_, row| Some(row.phase.after.name())),
    ]);
    columns
}

pub(super) fn of_attempts() -> Vec<Column<Attempt>> {
    let mut columns: Vec<Column<Attempt>> =
        of_places!(|_: &[Gpu], attempt: &Attempt| attempt.place).into();
    columns.extend([
        text("user", |_, attempt: &Attempt| attempt.who.user),
        text("job_id", |_, attempt| attempt.who.job),
        number("attempt", |_, attempt| attempt.number),
        number("gpus", |_, attempt| attempt.gpus),
        moment("start_time", |_, attempt| Some(attempt.start)),
        moment("end_time", |_, attempt| attempt.end),
        moment("until_time", |_, attempt| Some(attempt.until)),
        Column { name: "is_start_known", values: Values::Truth(|_, row| row.is_start_known) },
        word("outcome", |_, attempt| Some(attempt.outcome.name())),
        text("reason", |_, attempt| attempt.reason),
        word("cause", |_, attempt| attempt.cause),
        word("linked", |_, attempt| Some(attempt.linked.name())),
        text("evictor_user", |_, attempt| attempt.evictor.map_or(Name::UNKNOWN, |by| by.who.user)),
        text("evictor_job_id", |_, attempt| attempt.evictor.map_or(Name::UNKNOWN, |by| by.who.job)),
        word("evictor_confidence", |_, attempt| attempt.evictor.map(|by| by.confidence)),
    ]);
    columns
}

fn text<Row>(name: &'static str, of: Of<Row, Name>) -> Column<Row> {
    Column { name, values: Values::Text(of) }
}

fn word<Row>(name: &'static str, of: Of<Row, Option<&'static str>>) -> Column<Row> {
    Column { name, values: Values::Word(of) }
}

fn moment<Row>(name: &'static str, of: Of<Row, Option<i64>>) -> Column<Row> {
    Column { name, values: Values::Moment(of) }
}

fn number<Row>(name: &'static str, of: Of<Row, Option<i64>>) -> Column<Row> {
    Column { name, values: Values::Number(of) }
}
